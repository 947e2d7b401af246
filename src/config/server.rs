//! `[server]`, `[admin]` and `[limits]`: the listening side, and who may use it how much.

use std::thread::available_parallelism;
use std::time::Duration;

use ipnet::IpNet;
use serde::Serialize;
use tintype_storage::domain::api_key::RateLimit;

use super::addresses::{Listen, base_url, range};
use super::reader::Section;
use super::render;
use super::secret::Secret;
use super::values::{integer, list, or_empty, private, text};

/// `[server]`: the listening side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// Where the service listens.
    pub listen: Listen,
    /// What callers reach the service under, without a slash at the end; `None`: `http://<listen>`.
    #[serde(serialize_with = "render::or_blank")]
    pub public_url: Option<String>,
    /// Proxies whose `X-Forwarded-For` is believed.
    #[serde(serialize_with = "render::as_strings")]
    pub trusted_proxies: Vec<IpNet>,
    /// An own address for `/metrics`; `None`: served beside the rest.
    #[serde(serialize_with = "render::or_blank")]
    pub metrics_listen: Option<Listen>,
    /// Threads that serve HTTP; 0: one per core. See [`Server::workers`].
    pub workers: usize,
    /// The largest request body of the native and the operator interface, in bytes.
    pub max_body_bytes: usize,
    /// How long a request body may take to arrive.
    pub body_timeout_seconds: u64,
    /// How long an orderly stop waits for what is under way.
    pub shutdown_grace_seconds: u64,
}

impl Server {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            listen: s.required("listen", text(Listen::parse)),
            public_url: s.required("public_url", private(or_empty(base_url))),
            trusted_proxies: s.required("trusted_proxies", list(0..=256, text(range))),
            metrics_listen: s.required("metrics_listen", text(or_empty(Listen::parse))),
            workers: s.required("workers", integer(0..=1024)),
            max_body_bytes: s.required("max_body_bytes", integer(1024..=64 * 1024 * 1024)),
            body_timeout_seconds: s.required("body_timeout_seconds", integer(1..=3600)),
            shutdown_grace_seconds: s.required("shutdown_grace_seconds", integer(0..=3600)),
        };
        s.finish();
        read
    }

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

/// `[admin]`: the operator's access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Admin {
    /// The operator's token; `None`: made on first start.
    #[serde(serialize_with = "render::or_blank")]
    pub token: Option<Secret>,
}

impl Admin {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let token = |text: &str| {
            let is_fit =
                (32..=512).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
            let expected = "32 to 512 visible ASCII characters without spaces; make one with `openssl rand -hex 32`";
            is_fit
                .then(|| Secret::new(text))
                .ok_or_else(|| expected.to_owned())
        };
        let read = Self {
            token: s.required("token", private(or_empty(token))),
        };
        s.finish();
        read
    }
}

fn rate(per_second: u32, burst: u32) -> Option<RateLimit> {
    let burst = if burst == 0 { per_second } else { burst };
    (per_second > 0).then_some(RateLimit { per_second, burst })
}

/// `[limits]`: the rate of keys that have none of their own, and the memory of input images.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Requests per second of one key; 0: no limit.
    pub requests_per_second: u32,
    /// Requests at once above that rate; 0: as many as one second's.
    pub burst: u32,
    /// Calls per second that fetch input images, of one key without a rate; 0: no limit.
    pub fetches_per_second: u32,
    /// Such calls at once above that rate; 0: as many as one second's.
    pub fetch_burst: u32,
    /// Memory that input images pass through, of all calls together, in bytes.
    pub ingest_bytes: u64,
}

impl Limits {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            requests_per_second: s.required("requests_per_second", integer(0..=1_000_000)),
            burst: s.required("burst", integer(0..=1_000_000)),
            fetches_per_second: s.required("fetches_per_second", integer(0..=1_000_000)),
            fetch_burst: s.required("fetch_burst", integer(0..=1_000_000)),
            // Half of it, which one account may hold, has room for an image.
            ingest_bytes: s.required("ingest_bytes", integer(16 << 20..=1 << 40)),
        };
        s.finish();
        read
    }

    /// The limit of a key without one of its own; `None`: it has none.
    pub fn of_keys(&self) -> Option<RateLimit> {
        rate(self.requests_per_second, self.burst)
    }

    /// The limit of such a key's calls that fetch input images, where its calls have none.
    pub fn of_fetches(&self) -> Option<RateLimit> {
        rate(self.fetches_per_second, self.fetch_burst)
    }
}
