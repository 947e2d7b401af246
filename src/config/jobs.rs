//! `[jobs]` and `[inputs]`: the queue, its runs, and the input images of a job.

use std::time::Duration;

use serde::Serialize;
use tintype_imaging::decoding::MAX_PIXELS;

use super::reader::Section;
use super::values::integer;

/// `[jobs]`: the queue and its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Jobs {
    /// How often a job is run in all before it fails as interrupted.
    pub max_runs: u32,
    /// The longest prompt, in Unicode scalar values.
    pub max_prompt_chars: usize,
    /// Live jobs of all accounts together.
    pub max_live: u64,
    /// Live jobs of one account.
    pub max_live_per_account: u64,
    /// Creations that wait to be decided and written, of all accounts together; one may have half of them.
    pub max_creations_under_way: usize,
    /// The bound of one run as a whole.
    pub timeout_seconds: u64,
}

impl Jobs {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            max_runs: s.required("max_runs", integer(1..=100)),
            max_prompt_chars: s.required("max_prompt_chars", integer(1..=1_000_000)),
            max_live: s.required("max_live", integer(1..=100_000_000)),
            max_live_per_account: s.required("max_live_per_account", integer(1..=100_000_000)),
            max_creations_under_way: s.required("max_creations_under_way", integer(2..=1_000_000)),
            timeout_seconds: s.required("timeout_seconds", integer(1..=86_400)),
        };
        s.finish();
        read
    }

    /// The bound of one run as a whole.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

/// `[inputs]`: fetching input images.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inputs {
    /// The bound of fetching all input images of a request.
    pub timeout_seconds: u64,
    /// The size of all input images of a request together, in bytes.
    pub max_total_bytes: u64,
    /// Pixels of one input image.
    pub max_pixels: u64,
}

impl Inputs {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            timeout_seconds: s.required("timeout_seconds", integer(1..=3600)),
            max_total_bytes: s.required("max_total_bytes", integer(1024..=10_000_000_000)),
            // What is taken can be decoded, so that every back end can be given it.
            max_pixels: s.required("max_pixels", integer(1..=i128::from(MAX_PIXELS))),
        };
        s.finish();
        read
    }

    /// The bound of fetching all input images of a request.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
