//! The secret that signs what is sent to one webhook.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// What every secret begins with (Standard Webhooks 1.0.0).
pub const PREFIX: &str = "whsec_";

/// A webhook's secret: 256 random bits. Kept only sealed, and never part of a message.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// The text is no secret of ours. It is not repeated, for it may be one with a slip of the hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a webhook secret: expected whsec_ and 44 characters of base64 (32 bytes)")]
pub struct NotASecret;

impl Secret {
    /// A secret from 256 bits of the caller's good randomness.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Reads the text as it was shown, blanks around it allowed.
    pub fn parse(text: &str) -> Result<Self, NotASecret> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(NotASecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| NotASecret)?;
        bytes.try_into().map(Self).map_err(|_| NotASecret)
    }

    /// What is shown to the receiver: `whsec_` and base64. All its bytes, prefix included, are the key of `X-Signature`.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// The decoded bytes: the key of `webhook-signature`, and what is sealed for keeping.
    pub fn key_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_from_its_text() {
        let secret = Secret::from_random([0xfb; 32]);
        let text = secret.text();
        assert_eq!(text.len(), 6 + 44);
        assert_eq!(Secret::parse(&format!(" {text}\n")), Ok(secret));
    }

    #[test]
    fn what_is_no_secret() {
        let text = Secret::from_random([7; 32]).text();
        let short = format!("{PREFIX}{}", STANDARD.encode([7; 31]));
        let unpadded = text.trim_end_matches('=');
        for bad in [
            "",
            PREFIX,
            &text[6..],
            &text[..49],
            &short,
            unpadded,
            "whsec_é",
        ] {
            assert_eq!(Secret::parse(bad), Err(NotASecret), "{bad}");
        }
    }

    #[test]
    fn no_message_shows_it() {
        let secret = Secret::from_random(*b"0123456789abcdef0123456789abcdef");
        let shown = format!("{secret:?} {secret:#?} {NotASecret}");
        assert!(!shown.contains("0123") && !shown.contains(&secret.text()[6..12]));
    }
}
