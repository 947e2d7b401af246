//! The wire format of webhooks: payloads, their canonical text, and its signatures.

pub mod canonical;
#[cfg(test)]
mod golden;
pub mod payload;
pub mod secret;
pub mod signature;
pub mod verification;
