//! `[jobs]` and `[inputs]`: the queue, its runs, and the input images of a job.

use std::time::Duration;

use tintype_imaging::decoding::MAX_PIXELS;

use super::section::section;
use super::values::integer;

section! {
    /// `[jobs]`: the queue and its runs.
    pub struct Jobs {
        /// How often a job is run in all before it fails as interrupted.
        pub max_runs: u32 = integer(1..=100),
        /// The longest prompt, in Unicode scalar values.
        pub max_prompt_chars: usize = integer(1..=1_000_000),
        /// Live jobs of all accounts together.
        pub max_live: u64 = integer(1..=100_000_000),
        /// Live jobs of one account.
        pub max_live_per_account: u64 = integer(1..=100_000_000),
        /// Creations that wait to be decided and written, of all accounts together; one may have half of them.
        pub max_creations_under_way: usize = integer(2..=1_000_000),
        /// The bound of one run as a whole.
        pub timeout_seconds: u64 = integer(1..=86_400),
    }
}

impl Jobs {
    /// The bound of one run as a whole.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

section! {
    /// `[inputs]`: fetching input images.
    pub struct Inputs {
        /// The bound of fetching all input images of a request.
        pub timeout_seconds: u64 = integer(1..=3600),
        /// The size of all input images of a request together, in bytes.
        pub max_total_bytes: u64 = integer(1024..=10_000_000_000),
        /// Pixels of one input image.
        // What is taken can be decoded, so that every back end can be given it.
        pub max_pixels: u64 = integer(1..=i128::from(MAX_PIXELS)),
    }
}

impl Inputs {
    /// The bound of fetching all input images of a request.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
