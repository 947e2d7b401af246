//! What an attempt sent, kept so that one can find out why a receiver refused it.

use super::excerpt;
use serde::{Deserialize, Serialize};

/// Bytes of a body that are kept of each attempt: all of one without large metadata.
pub const MAX_SENT_BYTES: usize = 4_096;

/// The signatures and the body of one attempt. Its moment is the attempt's, in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The header `X-Signature`.
    pub x_signature: String,
    /// The header `webhook-signature`.
    pub webhook_signature: String,
    /// The body, or its beginning.
    pub body: String,
    /// Bytes of the whole body.
    pub body_bytes: u64,
}

impl Sent {
    /// As much as is kept of this body with these signatures.
    pub fn new(x_signature: String, webhook_signature: String, body: &str) -> Self {
        Self {
            x_signature,
            webhook_signature,
            body: excerpt(body.as_bytes(), MAX_SENT_BYTES),
            body_bytes: body.len() as u64,
        }
    }

    /// Is the body kept whole?
    pub fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.body_bytes
    }
}
