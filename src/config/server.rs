//! `[server]`, `[admin]` and `[limits]`: the listening side, and who may use it how much.

use std::thread::available_parallelism;
use std::time::Duration;

use ipnet::IpNet;
use tintype_storage::domain::api_key::RateLimit;

use super::addresses::{Listen, base_url, range};
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{integer, list, or_empty, private, random_text, text};

section! {
    /// `[server]`: the listening side.
    pub struct Server {
        /// Where the service listens.
        pub listen: Listen = text(Listen::parse),
        /// What callers reach the service under, without a slash at the end; `None`: `http://<listen>`.
        #[serde(serialize_with = "render::or_blank")]
        pub public_url: Option<String> = private(or_empty(base_url)),
        /// Proxies whose `X-Forwarded-For` is believed.
        #[serde(serialize_with = "render::as_strings")]
        pub trusted_proxies: Vec<IpNet> = list(0..=256, text(range)),
        /// An own address for `/metrics`; `None`: served beside the rest.
        #[serde(serialize_with = "render::or_blank")]
        pub metrics_listen: Option<Listen> = text(or_empty(Listen::parse)),
        /// Threads that serve HTTP; 0: one per core. See [`Server::workers`].
        pub workers: usize = integer(0..=1024),
        /// The largest request body of the native and the operator interface, in bytes.
        pub max_body_bytes: usize = integer(1024..=64 * 1024 * 1024),
        /// How long a request body may take to arrive.
        pub body_timeout_seconds: u64 = integer(1..=3600),
        /// How long an orderly stop waits for what is under way.
        pub shutdown_grace_seconds: u64 = integer(0..=3600),
    }
}

impl Server {
    /// The number of threads that serve HTTP.
    pub fn workers(&self) -> usize {
        match self.workers {
            0 => available_parallelism().map_or(1, usize::from),
            workers => workers,
        }
    }

    /// How long a request body may take to arrive.
    pub fn body_timeout(&self) -> Duration {
        Duration::from_secs(self.body_timeout_seconds)
    }

    /// How long an orderly stop waits for what is under way.
    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.shutdown_grace_seconds)
    }
}

section! {
    /// `[admin]`: the operator's access.
    pub struct Admin {
        /// The operator's token; `None`: made on first start.
        #[serde(serialize_with = "render::or_blank")]
        pub token: Option<Secret> = private(or_empty(random_text)),
    }
}

fn rate(per_second: u32, burst: u32) -> Option<RateLimit> {
    let burst = if burst == 0 { per_second } else { burst };
    (per_second > 0).then_some(RateLimit { per_second, burst })
}

section! {
    /// `[limits]`: the rate of keys that have none of their own, and the memory of input images.
    pub struct Limits {
        /// Requests per second of one key; 0: no limit.
        pub requests_per_second: u32 = integer(0..=1_000_000),
        /// Requests at once above that rate; 0: as many as one second's.
        pub burst: u32 = integer(0..=1_000_000),
        /// Calls per second that fetch input images, of one key without a rate; 0: no limit.
        pub fetches_per_second: u32 = integer(0..=1_000_000),
        /// Such calls at once above that rate; 0: as many as one second's.
        pub fetch_burst: u32 = integer(0..=1_000_000),
        /// Memory that input images pass through, of all calls together, in bytes.
        // Half of it, which one account may hold, has room for an image.
        pub ingest_bytes: u64 = integer(16 << 20..=1 << 40),
    }
}

impl Limits {
    /// The limit of a key without one of its own; `None`: it has none.
    pub fn of_keys(&self) -> Option<RateLimit> {
        rate(self.requests_per_second, self.burst)
    }

    /// The limit of such a key's calls that fetch input images, where its calls have none.
    pub fn of_fetches(&self) -> Option<RateLimit> {
        rate(self.fetches_per_second, self.fetch_burst)
    }
}
