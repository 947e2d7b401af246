//! Erases personal data on request. What ledger, usage and verification need stays.

pub mod accounts;
pub mod jobs;
mod texts;
