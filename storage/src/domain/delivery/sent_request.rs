//! The request of an attempt, stored so that a rejected delivery can be analysed.

use super::excerpt;
use serde::{Deserialize, Serialize};

/// Bytes of a request body that an attempt stores: enough for a whole body without large metadata.
pub const MAX_SENT_BYTES: usize = 4_096;

/// The signatures and the body of one attempt. The signed timestamp is the attempt's time in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    pub x_signature: String,
    pub webhook_signature: String,
    /// The body, possibly truncated.
    pub body: String,
    /// The length of the whole body.
    pub body_bytes: u64,
}

impl SentRequest {
    pub fn new(x_signature: String, webhook_signature: String, body: &str) -> Self {
        Self {
            x_signature,
            webhook_signature,
            body: excerpt(body.as_bytes(), MAX_SENT_BYTES),
            body_bytes: body.len() as u64,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.body_bytes
    }
}
