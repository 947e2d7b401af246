//! `[jobs]` and `[inputs]`: the queue, its runs, and the input images of a job.

use std::time::Duration;

use tintype_imaging::decoding::MAX_PIXELS;

use super::section::section;
use super::values::integer;

section! {
    pub struct Jobs {
        /// A job that was interrupted in this many runs fails.
        pub max_runs: u32 = integer(1..=100),
        /// In Unicode scalar values.
        pub max_prompt_chars: usize = integer(1..=1_000_000),
        /// Of all accounts together.
        pub max_live: u64 = integer(1..=100_000_000),
        pub max_live_per_account: u64 = integer(1..=100_000_000),
        /// Creations that wait for their decision and commit, of all accounts together. One account may have half of them.
        pub max_creations_under_way: usize = integer(2..=1_000_000),
        /// Of a whole run, with all attempts and backends.
        timeout_seconds: u64 = integer(1..=86_400),
    }
}

impl Jobs {
    /// Of a whole run, with all attempts and backends.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

section! {
    /// `[inputs]`: fetching input images.
    pub struct Inputs {
        /// For all input images of a request together.
        pub timeout_seconds: u64 = integer(1..=3600),
        /// Of all input images of a request together.
        pub max_total_bytes: u64 = integer(1024..=10_000_000_000),
        /// Of one input image.
        // At most what the decoder accepts, so that every accepted image can be sent to every backend.
        pub max_pixels: u64 = integer(1..=i128::from(MAX_PIXELS)),
    }
}

impl Inputs {
    /// For all input images of a request together.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
