//! A parsed and validated generation request.

use crate::application::error::Error;
use crate::application::fingerprint::FingerprintBuilder;
use crate::inputs::StoredUpload;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::image_options::ImageOptions;
use tintype_storage::domain::job::{Origin, PromptText};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::Mode;
use tintype_storage::json::Json;
use tintype_storage::store::IdempotencyUse;

/// A valid request. Its offer holds the price, so a request for a size without a price cannot exist.
pub struct GenerationRequest {
    pub offer: Offer,
    pub shape: Shape,
    /// Not empty, without NUL characters.
    pub prompt: String,
    /// Empty for text-to-image.
    pub inputs: Vec<Input>,
    /// The registered webhook that receives the job's event.
    pub callback_url: Option<String>,
    /// The caller's object, echoed in responses.
    pub metadata: Option<Json>,
    pub origin: Origin,
    pub options: ImageOptions,
    /// Images of the call. Each image is a separate request.
    pub images: usize,
    /// The job fails if it is still queued after this time.
    pub cancel_after: Option<Duration>,
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Fixed(AspectRatio),
    /// The shape of the first input image, which must exist.
    OfInput,
    /// The shape of the first input image, otherwise the square.
    OfInputOrSquare,
}

pub enum Input {
    /// Uploaded with the call and already in the object store. Dropping it deletes the object.
    Stored(Box<StoredUpload>),
    /// To be fetched. Errors name it as `field`.
    Url { url: String, field: String },
    /// The image of an earlier job of the account, to be copied. Errors name it as `field`.
    Earlier { job: JobId, field: String },
}

impl Input {
    /// Two requests with the same image in the same form are the same request.
    fn identity(&self) -> Vec<u8> {
        match self {
            Self::Stored(upload) => upload.sha256().to_vec(),
            Self::Url { url, .. } => url.clone().into_bytes(),
            // Not its content: the job of a repeated request is found after the image was deleted, too.
            Self::Earlier { job, .. } => format!("job {job}").into_bytes(),
        }
    }
}

impl GenerationRequest {
    /// A request for one image without optional fields.
    pub fn new(
        offer: Offer,
        shape: Shape,
        prompt: String,
        inputs: Vec<Input>,
        origin: Origin,
    ) -> Self {
        Self {
            offer,
            shape,
            prompt,
            inputs,
            callback_url: None,
            metadata: None,
            origin,
            options: ImageOptions::default(),
            images: 1,
            cancel_after: None,
            idempotency_key: None,
        }
    }

    pub fn mode(&self) -> Mode {
        match self.inputs.is_empty() {
            true => Mode::TextToImage,
            false => Mode::ImageToImage,
        }
    }

    /// Takes the prompt and the metadata out, in the form of a record.
    pub fn take_text(&mut self) -> PromptText {
        PromptText {
            prompt: std::mem::take(&mut self.prompt),
            metadata: self.metadata.take().as_ref().map(Json::to_compact),
        }
    }

    /// The idempotency key with the fingerprint of the request.
    pub fn idempotency(&self) -> Option<IdempotencyUse> {
        Some(IdempotencyUse {
            name: self.idempotency_key.clone()?,
            fingerprint: self.fingerprint(),
        })
    }

    /// SHA-256 of the meaning of the request, independent of the member order and whitespace of the JSON. Idempotency records store it,
    /// so its input must never change.
    pub fn fingerprint(&self) -> Fingerprint {
        match self.origin {
            Origin::Native | Origin::Batch(_) => self.native_fingerprint(),
            Origin::Synchronous | Origin::Background => self.synchronous_fingerprint(),
        }
    }

    fn native_fingerprint(&self) -> Fingerprint {
        let mut parts = FingerprintBuilder::default();
        parts.add(self.offer.tier().as_str());
        parts.add(self.mode().as_str());
        match self.shape {
            Shape::Fixed(ratio) => parts.add(AspectChoice::Fixed(ratio).to_string()),
            Shape::OfInput | Shape::OfInputOrSquare => parts.add(AspectChoice::Auto.to_string()),
        }
        parts.add(self.offer.resolution().as_str());
        parts.add(&self.prompt);
        let is_url = |it: &&Input| matches!(it, Input::Url { .. });
        let (urls, others): (Vec<_>, Vec<_>) = self.inputs.iter().partition(is_url);
        parts.add(urls.len().to_string());
        urls.iter().for_each(|it| parts.add(it.identity()));
        parts.add(self.callback_url.as_deref().unwrap_or_default());
        parts.add_metadata(self.metadata.as_ref());
        self.add_options(&mut parts);
        let named = parts.finish();
        if others.is_empty() {
            return named;
        }
        let mut hash = Sha256::new_with_prefix(named.0);
        others.iter().for_each(|it| hash.update(it.identity()));
        Fingerprint(hash.finalize().into())
    }

    fn synchronous_fingerprint(&self) -> Fingerprint {
        let mut parts = FingerprintBuilder::default();
        parts.add(match self.origin {
            Origin::Background => "background",
            _ => "synchronous",
        });
        parts.add(self.offer.tier().as_str());
        parts.add(self.offer.resolution().as_str());
        match self.shape {
            Shape::Fixed(ratio) => parts.add(ratio.to_string()),
            Shape::OfInput | Shape::OfInputOrSquare => parts.add(""),
        }
        parts.add(&self.prompt);
        self.inputs.iter().for_each(|it| parts.add(it.identity()));
        if self.images > 1 {
            parts.add(self.images.to_be_bytes());
        }
        // Recorded fingerprints have no such part.
        if self.metadata.is_some() {
            parts.add_metadata(self.metadata.as_ref());
        }
        self.add_options(&mut parts);
        parts.finish()
    }

    /// Adds nothing for a request without these options, so that its fingerprint is the one from before such requests.
    fn add_options(&self, parts: &mut FingerprintBuilder) {
        // Names every option: two requests that differ in one of them are two requests.
        let ImageOptions {
            output,
            has_mask,
            background,
        } = self.options;
        if let Some(output) = output {
            parts.add(format!("output {output}"));
        }
        if has_mask {
            parts.add("mask");
        }
        if let Some(background) = background {
            parts.add(format!("background {background}"));
        }
    }
}

impl Shape {
    /// The choice to record and the ratio to generate. `of_input` is the offered ratio nearest to the first input image.
    ///
    /// # Errors
    /// The shape is that of an input image, but there is none with a size.
    pub fn choose(
        self,
        offered: &[AspectRatio],
        of_input: Option<AspectRatio>,
    ) -> Result<(AspectChoice, AspectRatio), Error> {
        match (self, of_input) {
            (Self::Fixed(ratio), _) => Ok((AspectChoice::Fixed(ratio), ratio)),
            (Self::OfInput | Self::OfInputOrSquare, Some(ratio)) => Ok((AspectChoice::Auto, ratio)),
            (Self::OfInput, None) => Err(Error::field(
                "aspect_ratio",
                "`auto` needs an input image with a size",
            )),
            (Self::OfInputOrSquare, None) => {
                let ratio = square_or_first(offered);
                Ok((AspectChoice::Fixed(ratio), ratio))
            }
        }
    }
}

/// The square if it is offered, otherwise the first offered shape.
pub fn square_or_first(offered: &[AspectRatio]) -> AspectRatio {
    let square = offered.iter().find(|it| **it == AspectRatio::SQUARE);
    let ratio = square.or(offered.first()).copied();
    ratio.unwrap_or(AspectRatio::SQUARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;
    use crate::config::{Config, Sources};
    use tintype_storage::domain::image_options::Background;
    use tintype_storage::domain::output_format::OutputFormat;
    use tintype_storage::domain::tier::{Resolution, Tier};

    fn offer(tier: Tier, resolution: Resolution) -> Offer {
        let catalog = catalog(&Config::load(&Sources::default()).unwrap().tiers);
        catalog.offer(tier, resolution).unwrap()
    }

    fn request() -> GenerationRequest {
        let (offer, square) = (
            offer(Tier::Pro, Resolution::K1),
            Shape::Fixed(AspectRatio::SQUARE),
        );
        GenerationRequest {
            metadata: Some(Json::parse(r#"{"a":1,"b":2}"#, 32).unwrap()),
            ..GenerationRequest::new(offer, square, "a fox".into(), Vec::new(), Origin::Native)
        }
    }

    fn in_format(output: OutputFormat) -> GenerationRequest {
        GenerationRequest {
            options: ImageOptions {
                output: Some(output),
                ..ImageOptions::default()
            },
            ..request()
        }
    }

    fn with_background(background: Background) -> GenerationRequest {
        GenerationRequest {
            options: ImageOptions {
                background: Some(background),
                ..ImageOptions::default()
            },
            ..request()
        }
    }

    fn url(url: &str) -> Vec<Input> {
        vec![Input::Url {
            url: url.into(),
            field: "a".into(),
        }]
    }

    fn with_metadata(text: &str) -> GenerationRequest {
        GenerationRequest {
            metadata: Some(Json::parse(text, 32).unwrap()),
            ..request()
        }
    }

    #[test]
    fn hostile_49_any_other_value_is_another_request() {
        let first = request().fingerprint();
        let in_other_words = with_metadata(r#"{ "b":2.0, "\u0061":10e-1 }"#);
        assert_eq!(in_other_words.fingerprint(), first);
        let others = [
            GenerationRequest {
                offer: offer(Tier::Quality, Resolution::K1),
                ..request()
            },
            GenerationRequest {
                offer: offer(Tier::Pro, Resolution::K2),
                ..request()
            },
            GenerationRequest {
                shape: Shape::OfInput,
                ..request()
            },
            GenerationRequest {
                prompt: "a fox ".into(),
                ..request()
            },
            GenerationRequest {
                inputs: url("http://a/"),
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
            GenerationRequest {
                origin: Origin::Synchronous,
                ..request()
            },
            GenerationRequest {
                origin: Origin::Background,
                ..request()
            },
            GenerationRequest {
                inputs: url("http://a/"),
                options: ImageOptions {
                    has_mask: true,
                    ..ImageOptions::default()
                },
                ..request()
            },
            with_metadata(r#"{"a":9007199254740992}"#),
            with_metadata(r#"{"a":9007199254740993}"#),
            with_metadata(r#"{"a":[{"b":1311768467463790320}]}"#),
            with_metadata(r#"{"a":[{"b":1311768467463790321}]}"#),
            in_format(OutputFormat::Png),
            in_format(OutputFormat::Jpeg { quality: 100 }),
            in_format(OutputFormat::Jpeg { quality: 80 }),
            in_format(OutputFormat::WebP),
            with_background(Background::Opaque),
            with_background(Background::Transparent),
            GenerationRequest {
                origin: Origin::Synchronous,
                ..in_format(OutputFormat::WebP)
            },
        ];
        let mut prints: Vec<_> = others.iter().map(|it| it.fingerprint().0).collect();
        prints.push(first.0);
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), others.len() + 1);
    }

    /// Idempotency records outlive an upgrade of the service.
    #[test]
    fn fingerprints_stay_as_they_were_recorded() {
        let hex = |request: &GenerationRequest| {
            let print = request.fingerprint().0;
            print
                .iter()
                .map(|it| format!("{it:02x}"))
                .collect::<String>()
        };
        let native = GenerationRequest {
            shape: Shape::OfInput,
            inputs: url("http://a/"),
            ..request()
        };
        // No synchronous call had metadata when these were recorded.
        let synchronous = GenerationRequest {
            origin: Origin::Synchronous,
            images: 2,
            metadata: None,
            ..request()
        };
        let jpeg = in_format(OutputFormat::Jpeg { quality: 80 });
        let numbers = with_metadata(r#"{"a":-0,"b":9007199254740992,"c":1e-7,"d":1.5e300}"#);
        assert_eq!(
            hex(&numbers),
            "bf72ae3125dde2c8eec3cd0a384b0b4a5bbd5b9941ab63c259d7c0005e45be25"
        );
        assert_eq!(
            hex(&jpeg),
            "581c75689b9533fad25dac300474537073f2001408ded4eedc2b01740b2047a2"
        );
        assert_eq!(
            hex(&request()),
            "04c4ed8828f839129d98e5e1f903a9b8bab6f03824ff3495804915a5b171ed28"
        );
        assert_eq!(
            hex(&native),
            "82e7d57de546ea0d86b567472ffecb7127cd1c93e2e8871331046c36a8f9c9cd"
        );
        assert_eq!(
            hex(&synchronous),
            "3519518cd469c3b86537ef50f5dbead208ee5653f5863abe5f5577c8dd075dba"
        );
    }
}
