//! Reads the bodies of requests: JSON whose images are streamed to the object store while it arrives.

pub mod base64;
pub mod body;
pub mod body_timeouts;
pub mod drain;
pub mod fields;
pub mod scanner;
