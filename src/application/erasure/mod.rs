//! Erases personal data on request. What ledger, usage and verification need stays.

pub mod jobs;
