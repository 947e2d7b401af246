//! `[server]`, `[admin]` and `[limits]`: the HTTP server, the operator's token and the rate limits.

use std::thread::available_parallelism;
use std::time::Duration;

use ipnet::IpNet;
use tintype_storage::domain::api_key::RateLimit;

use super::addresses::{Listen, base_url, range};
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{integer, list, or_empty, random_text, redacted, text};

section! {
    pub struct Server {
        pub listen: Listen = text(Listen::parse),
        /// The base URL for callers, without a slash at the end. `None`: `http://<listen>`.
        #[serde(serialize_with = "render::or_blank")]
        pub public_url: Option<String> = redacted(or_empty(base_url)),
        /// Proxies whose `X-Forwarded-For` is trusted.
        #[serde(serialize_with = "render::as_strings")]
        pub trusted_proxies: Vec<IpNet> = list(0..=256, text(range)),
        /// A separate address for `/metrics`. `None`: `listen`.
        #[serde(serialize_with = "render::or_blank")]
        pub metrics_listen: Option<Listen> = text(or_empty(Listen::parse)),
        /// HTTP threads. 0: one per core. See [`Server::workers`].
        pub workers: usize = integer(0..=1024),
        /// For request bodies of the native and the operator interface.
        pub max_body_bytes: usize = integer(1024..=64 * 1024 * 1024),
        /// For receiving a request body.
        pub body_timeout_seconds: u64 = integer(1..=3600),
        /// How long a graceful shutdown waits for requests and jobs in flight.
        pub shutdown_grace_seconds: u64 = integer(0..=3600),
    }
}

impl Server {
    /// The number of HTTP threads.
    pub fn workers(&self) -> usize {
        match self.workers {
            0 => available_parallelism().map_or(1, usize::from),
            workers => workers,
        }
    }

    /// For receiving a request body.
    pub fn body_timeout(&self) -> Duration {
        Duration::from_secs(self.body_timeout_seconds)
    }

    /// How long a graceful shutdown waits for requests and jobs in flight.
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.shutdown_grace_seconds)
    }
}

section! {
    /// `[admin]`: the operator's access.
    pub struct Admin {
        /// The operator's token. `None`: the first start creates one.
        #[serde(serialize_with = "render::or_blank")]
        pub token: Option<Secret> = redacted(or_empty(random_text)),
    }
}

fn rate(per_second: u32, burst: u32) -> Option<RateLimit> {
    let burst = if burst == 0 { per_second } else { burst };
    (per_second > 0).then_some(RateLimit { per_second, burst })
}

section! {
    /// `[limits]`: the default rate limits of API keys, and the memory for input images.
    pub struct Limits {
        /// Requests per second of one key. 0: no limit.
        pub requests_per_second: u32 = integer(0..=1_000_000),
        /// The burst size of that rate. 0: the requests of one second.
        pub burst: u32 = integer(0..=1_000_000),
        /// Requests per second with input images to fetch, of one key without a rate limit. 0: no limit.
        pub fetches_per_second: u32 = integer(0..=1_000_000),
        /// The burst size of that rate. 0: the requests of one second.
        pub fetch_burst: u32 = integer(0..=1_000_000),
        /// Buffer memory for input images, of all requests together.
        // One account may hold half of it, which must fit an image.
        pub ingest_bytes: u64 = integer(16 << 20..=1 << 40),
    }
}

impl Limits {
    /// The rate limit of a key that sets none. `None`: no limit.
    pub fn key_rate(&self) -> Option<RateLimit> {
        rate(self.requests_per_second, self.burst)
    }

    /// The rate limit of requests with input images to fetch, for a key without a rate limit.
    pub fn fetch_rate(&self) -> Option<RateLimit> {
        rate(self.fetches_per_second, self.fetch_burst)
    }
}
