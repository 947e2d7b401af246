//! What a caller asks for, once it has been found valid.

use super::aspect_ratio::AspectChoice;
use super::json::Json;
use super::tier::{Mode, Resolution, Tier};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Input images that one request may name.
pub const MAX_INPUTS: usize = 14;
/// Characters of an input's or a callback's URL.
pub const MAX_URL_CHARS: usize = 2_048;
/// Bytes of the metadata as compact JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;
/// How deep metadata may be nested; the object itself is level 1.
pub const MAX_METADATA_DEPTH: usize = 32;

/// A valid generation request. Only parsing at the edge makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationRequest {
    /// The model asked for.
    pub tier: Tier,
    /// With input images or without.
    pub mode: Mode,
    /// The shape asked for.
    pub aspect: AspectChoice,
    /// The size asked for, or the default.
    pub resolution: Resolution,
    /// What to show, without NUL characters, not empty.
    pub prompt: String,
    /// Where the input images are; empty on text-to-image.
    pub input_urls: Vec<String>,
    /// The registered webhook that this job's event is for.
    pub callback_url: Option<String>,
    /// The caller's own object, to be echoed.
    pub metadata: Option<Json>,
}

/// SHA-256 of what a request means: equal for a repeat in other words, such as another member order or more blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 32]);

impl GenerationRequest {
    /// What an idempotency key is bound to: the endpoint (tier and mode) and every field's value.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        // Each part is led by its length, so that no two requests can spell the same bytes.
        let mut part = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        part(self.tier.word());
        part(self.mode.word());
        part(&self.aspect.to_string());
        part(self.resolution.word());
        part(&self.prompt);
        part(&self.input_urls.len().to_string());
        self.input_urls.iter().for_each(|url| part(url));
        part(self.callback_url.as_deref().unwrap_or_default());
        part(
            &self
                .metadata
                .as_ref()
                .map(Json::to_sorted)
                .unwrap_or_default(),
        );
        Fingerprint(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::aspect_ratio::AspectRatio;

    fn request() -> GenerationRequest {
        GenerationRequest {
            tier: Tier::Pro,
            mode: Mode::TextToImage,
            aspect: AspectChoice::Fixed(AspectRatio::SQUARE),
            resolution: Resolution::K1,
            prompt: "a fox".into(),
            input_urls: vec![],
            callback_url: None,
            metadata: Some(Json::parse(r#"{"a":1,"b":2}"#, 32).unwrap()),
        }
    }

    #[test]
    fn hostile_49_any_other_value_is_another_request() {
        let first = request().fingerprint();
        assert_eq!(
            first,
            GenerationRequest {
                metadata: Some(Json::parse(r#"{ "b":2, "a":1 }"#, 32).unwrap()),
                ..request()
            }
            .fingerprint()
        );
        let others = [
            GenerationRequest {
                tier: Tier::Quality,
                ..request()
            },
            GenerationRequest {
                mode: Mode::ImageToImage,
                ..request()
            },
            GenerationRequest {
                aspect: AspectChoice::Auto,
                ..request()
            },
            GenerationRequest {
                resolution: Resolution::K2,
                ..request()
            },
            GenerationRequest {
                prompt: "a fox ".into(),
                ..request()
            },
            GenerationRequest {
                input_urls: vec!["http://a/".into()],
                ..request()
            },
            GenerationRequest {
                callback_url: Some("http://a/".into()),
                ..request()
            },
            GenerationRequest {
                metadata: None,
                ..request()
            },
        ];
        assert!(others.iter().all(|other| other.fingerprint() != first));
    }
}
