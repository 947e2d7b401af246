//! The secret that signs deliveries to one webhook.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// Standard Webhooks 1.0.0.
pub const PREFIX: &str = "whsec_";

/// 256 random bits. Stored only encrypted; no message contains it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret([u8; 32]);

/// Does not repeat the text, which may be a mistyped secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a webhook secret: expected whsec_ and 44 characters of base64 (32 bytes)")]
pub struct NotASecret;

impl WebhookSecret {
    /// `random` must come from a cryptographically secure generator.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Reads the text as shown to the receiver; surrounding blanks are allowed.
    pub fn parse(text: &str) -> Result<Self, NotASecret> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(NotASecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| NotASecret)?;
        bytes.try_into().map(Self).map_err(|_| NotASecret)
    }

    /// The text shown to the receiver: `whsec_` and base64. All its bytes, prefix included, are the key of `X-Signature`.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// The decoded bytes: the key of `webhook-signature`, and the plaintext of the sealed secret.
    pub fn key_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_from_its_text() {
        let secret = WebhookSecret::from_random([0xfb; 32]);
        let text = secret.text();
        assert_eq!(text.len(), 6 + 44);
        assert_eq!(WebhookSecret::parse(&format!(" {text}\n")), Ok(secret));
    }

    #[test]
    fn malformed_secrets_are_refused() {
        let text = WebhookSecret::from_random([7; 32]).text();
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
            assert_eq!(WebhookSecret::parse(bad), Err(NotASecret), "{bad}");
        }
    }

    #[test]
    fn no_message_contains_the_secret() {
        let secret = WebhookSecret::from_random(*b"0123456789abcdef0123456789abcdef");
        let shown = format!("{secret:?} {secret:#?} {NotASecret}");
        assert!(!shown.contains("0123") && !shown.contains(&secret.text()[6..12]));
    }
}
