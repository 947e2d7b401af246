//! The sections of the configuration, except backends and tiers: each key with its type, its bounds and its meaning.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use ipnet::IpNet;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use tintype_egress::tls;
use tintype_imaging::decoding::MAX_PIXELS;
use tintype_postgres::DatabaseUrl;
use tintype_storage::domain::api_key::RateLimit;
use url::Url;

use super::addresses::{Listen, base_url, bucket_url, range, webhook_url};
use super::amounts::{self, amount, factor};
use super::headers::headers;
use super::log_filter::log_filter;
use super::node::Item;
use super::reader::Section;
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{
    WEBHOOK_SECRET, accept_if, directory, integer, list, number, or_empty, path, random_text,
    redacted, text, variant, webhook_secret,
};

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
        pub body_timeout_seconds: u64 = integer(1..=3600)
            => body_timeout: Duration = Duration::from_secs,
        /// How long a graceful shutdown waits for requests and jobs in flight.
        pub shutdown_grace_seconds: u64 = integer(0..=3600)
            => shutdown_grace: Duration = Duration::from_secs,
        /// The part of it in which a node still accepts calls. See `Config::drain`.
        drain_seconds: u64 = integer(0..=3600) => drain: Duration = Duration::from_secs,
    }
}

/// Reads `[server]`. Two listeners need two ports.
pub(super) fn server(section: Section<'_>) -> Server {
    let (context, location) = (
        section.context,
        section.location_of("metrics_listen").clone(),
    );
    let server = Server::read(section);
    let has_port = server.listen.host_and_port().1 != 0;
    if has_port && server.metrics_listen.as_ref() == Some(&server.listen) {
        let message = format!(
            "expected another address than `listen`, found \"{}\"; leave it empty to serve the metrics there",
            server.listen
        );
        let faults = context.faults;
        faults.push(&location, "server.metrics_listen", message);
    }
    server
}

impl Server {
    /// The number of HTTP threads.
    pub fn workers(&self) -> usize {
        match self.workers {
            0 => available_parallelism().map_or(1, usize::from),
            workers => workers,
        }
    }
}

section! {
    pub struct Storage {
        /// Holds all data that must survive a restart.
        pub data_dir: PathBuf = text(directory),
        /// The database of the records. `None`: sled in the data directory.
        #[serde(serialize_with = "render::or_blank")]
        pub url: Option<DatabaseUrl> = redacted(or_empty(database_url)),
        /// To the database.
        pub connections: usize = integer(3..=100),
        /// A longer outage of the database ends the process.
        pub outage_seconds: u64 = integer(1..=3600),
        /// The bucket of the images. `None`: a directory in the data directory.
        #[serde(serialize_with = "render::or_blank")]
        pub objects: Option<Url> = redacted(or_empty(bucket_url)),
        /// The cache of the engine.
        pub cache_bytes: u64 = integer(1_048_576..=1_099_511_627_776),
        /// A slower commit ends the process.
        commit_timeout_seconds: u64 = integer(1..=300)
            => commit_timeout: Duration = Duration::from_secs,
    }
}

fn database_url(text: &str) -> Result<DatabaseUrl, String> {
    DatabaseUrl::parse(text).map_err(|expected| expected.to_string())
}

/// Reads `[storage]`. A database requires a bucket, because nodes share no directory.
pub(super) fn storage(section: Section<'_>) -> Storage {
    let (context, location) = (section.context, section.location_of("url").clone());
    let storage = Storage::read(section);
    if storage.url.is_some() && storage.objects.is_none() {
        let message = "a bucket such as s3://bucket/prefix is required with `[storage] url`";
        let faults = context.faults;
        faults.push(&location, "storage.objects", message.to_owned());
    }
    storage
}

section! {
    /// `[cluster]`: the processes that share a database.
    pub struct Cluster {
        /// All nodes derive their keys and tokens from it.
        #[serde(serialize_with = "render::or_blank")]
        pub secret: Option<Secret> = redacted(or_empty(random_text)),
        /// A node without a heartbeat for this long counts as dead.
        pub(super) dead_after_seconds: u64 = integer(2..=60)
            => dead_after: Duration = Duration::from_secs,
    }
}

/// Reads `[cluster]`. The service requires the secret if it uses a database.
pub(super) fn cluster(section: Section<'_>, shares_database: bool) -> Cluster {
    let (context, location) = (section.context, section.location_of("secret").clone());
    let cluster = Cluster::read(section);
    let is_invalid = context.faults.contains("cluster.secret");
    if shares_database && context.needs_keys && cluster.secret.is_none() && !is_invalid {
        let message = "a secret is required with `[storage] url`; set the environment variable TINTYPE_SECRET to the output of \
             `openssl rand -hex 32`, the same for all processes on that database";
        context
            .faults
            .push(&location, "cluster.secret", message.to_owned());
    }
    cluster
}

section! {
    /// `[admin]`: the operator's access.
    pub struct Admin {
        /// The operator's token. `None`: the first start creates one.
        #[serde(serialize_with = "render::or_blank")]
        pub token: Option<Secret> = redacted(or_empty(random_text)),
    }
}

section! {
    /// `[operator]`: the operator's webhook.
    pub struct Operator {
        /// Receives the operator's events. `None`: no events are created. Requires `webhook_secret`.
        #[serde(serialize_with = "render::or_blank")]
        pub webhook_url: Option<String> = redacted(or_empty(webhook_url)),
        /// Signs the events.
        #[serde(serialize_with = "render::or_blank")]
        pub webhook_secret: Option<Secret> = redacted(or_empty(webhook_secret)),
        /// Below this much free space the event `disk.low` is sent. 0: never.
        pub disk_low_bytes: u64 = integer(0..=1 << 60),
    }
}

/// Reads `[operator]`. The service requires both the URL and the secret of the webhook. A command has no webhook without its secret,
/// which may be set only for the service.
pub(super) fn operator(mut section: Section<'_>) -> Operator {
    // A faulty value already has its fault, and does not count as missing.
    let is_empty = |key| {
        section.optional(key, |field| match &field.node.item {
            Item::Text(text) => Some(text.is_empty()),
            _ => None,
        })
    };
    match ["webhook_url", "webhook_secret"].map(is_empty) {
        [Some(false), Some(true)] if section.context.needs_keys => section.missing(
            "webhook_secret",
            "webhook_url",
            format!("missing, but required with webhook_url; expected {WEBHOOK_SECRET}"),
        ),
        [Some(true), Some(false)] => section.missing(
            "webhook_url",
            "webhook_secret",
            "missing, but required with webhook_secret".to_owned(),
        ),
        _ => {}
    }
    let operator = Operator::read(section);
    Operator {
        webhook_url: operator
            .webhook_url
            .filter(|_| operator.webhook_secret.is_some()),
        ..operator
    }
}

section! {
    /// `[audit]`: the log of operators' changes.
    pub struct Audit {
        /// 0: lines are kept forever.
        pub(super) retention_days: u64 = integer(0..=36_500)
            => retention: Option<Duration> = days,
    }
}

section! {
    /// `[egress]`: the addresses that input images and webhooks may use.
    pub struct Egress {
        /// Ranges that are allowed although they are not public.
        #[serde(serialize_with = "render::as_strings")]
        pub allow: Vec<IpNet> = list(0..=256, text(range)),
        /// Ranges that are denied although they are public, or part of `allow`.
        #[serde(serialize_with = "render::as_strings")]
        pub deny: Vec<IpNet> = list(0..=256, text(range)),
        /// Trusted certificate authorities, besides the system's.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub extra_ca_file: Option<PathBuf> = text(or_empty(path)),
    }
}

/// Reads `[egress]`. The service and `tintype check-config` also read the file of authorities.
pub(super) fn egress(section: Section<'_>) -> Egress {
    let (context, location) = (
        section.context,
        section.location_of("extra_ca_file").clone(),
    );
    let egress = Egress::read(section);
    if context.needs_keys
        && let Some(path) = &egress.extra_ca_file
        && let Err(error) = tls::read_authorities(path)
    {
        let faults = context.faults;
        faults.push(&location, "egress.extra_ca_file", error.to_string());
    }
    egress
}

section! {
    pub struct Webhooks {
        /// The delay before each retry, from the end of the previous attempt.
        pub retry_delays_seconds: Vec<u64> = list(0..=32, integer(1..=30 * 86_400)),
        /// Of a whole attempt.
        attempt_timeout_seconds: u64 = integer(1..=300)
            => attempt_timeout: Duration = Duration::from_secs,
        /// 0: ended deliveries are kept forever.
        delivery_retention_days: u64 = integer(0..=36_500)
            => delivery_retention: Option<Duration> = days,
    }
}

impl Webhooks {
    /// The delay before each retry, from the end of the previous attempt.
    pub fn retry_delays(&self) -> Vec<Duration> {
        let seconds = self.retry_delays_seconds.iter().copied();
        seconds.map(Duration::from_secs).collect()
    }
}

section! {
    /// `[inputs]`: fetching input images.
    pub struct Inputs {
        /// For all input images of a request together.
        pub timeout_seconds: u64 = integer(1..=3600) => timeout: Duration = Duration::from_secs,
        /// Of all input images of a request together.
        pub max_total_bytes: u64 = integer(1024..=10_000_000_000),
        /// Of one input image.
        // At most what the decoder accepts, so that every accepted image can be sent to every backend.
        pub max_pixels: u64 = integer(1..=i128::from(MAX_PIXELS)),
    }
}

section! {
    /// `[results]`: generated images.
    pub struct Results {
        /// Of download URLs.
        // Bucket URLs can be signed for at most seven days.
        pub url_lifetime_seconds: u64 = integer(60..=7 * 86_400)
            => url_lifetime: Duration = Duration::from_secs,
        /// 0: images are kept forever.
        pub(super) retention_days: u64 = integer(0..=36_500)
            => retention: Option<Duration> = days,
    }
}

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
        timeout_seconds: u64 = integer(1..=86_400) => timeout: Duration = Duration::from_secs,
        /// 0: ended jobs are kept forever.
        pub(super) retention_days: u64 = integer(0..=36_500)
            => retention: Option<Duration> = days,
    }
}

/// Reads `[jobs]`. A job must not be deleted before its image, its delivery and the use of its idempotency key.
pub(super) fn jobs(
    section: Section<'_>,
    results: &Results,
    webhooks: &Webhooks,
    idempotency: &Idempotency,
) -> Jobs {
    let (context, location) = (
        section.context,
        section.location_of("retention_days").clone(),
    );
    let jobs = Jobs::read(section);
    let days = jobs.retention_days;
    let dependents = [
        ("results.retention_days", results.retention_days, "images"),
        (
            "webhooks.delivery_retention_days",
            webhooks.delivery_retention_days,
            "deliveries",
        ),
    ];
    let too_short = dependents
        .into_iter()
        .find_map(|(key, kept, what)| match kept {
            0 => Some(format!("`{key} = 0` keeps {what} forever")),
            _ => (kept > days).then(|| format!("`{key} = {kept}` keeps {what} for longer")),
        });
    let hours = idempotency.retention_hours;
    let too_short = too_short.or_else(|| {
        (hours > days * 24)
            .then(|| format!("`idempotency.retention_hours = {hours}` keeps their keys for longer"))
    });
    if let Some(reason) = too_short.filter(|_| days > 0) {
        let message = format!("{days} days would delete jobs too early, because {reason}");
        context
            .faults
            .push(&location, "jobs.retention_days", message);
    }
    jobs
}

section! {
    pub struct Batches {
        /// Per batch.
        pub max_requests: usize = integer(1..=10_000),
        /// The price of an image in a batch is its single price times this.
        #[serde(serialize_with = "amounts::as_string")]
        pub price_factor: Decimal = text(factor),
        pub max_files_per_account: usize = integer(1..=10_000),
        /// Of all files of an account together.
        pub max_file_bytes_per_account: u64 = integer(1..=1_000_000_000_000),
        /// 0: uploaded files never expire.
        file_retention_days: u64 = integer(0..=36_500)
            => file_retention: Option<Duration> = days,
    }
}

section! {
    /// `[compat]`: the synchronous interfaces.
    pub struct Compat {
        /// How long a request may take.
        pub(super) timeout_seconds: u64 = integer(1..=86_400)
            => timeout: Duration = Duration::from_secs,
    }
}

section! {
    pub struct Idempotency {
        /// From the response with status 202.
        pub retention_hours: u64 = integer(1..=8760) => retention: Duration = hours,
    }
}

section! {
    /// `[limits]`: the default rate limits of API keys, the memory for input images, and the calls that wait.
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
        /// Requests of one account that wait for jobs or batches at a time.
        pub waiting_calls_per_account: usize = integer(1..=1_000_000),
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

fn rate(per_second: u32, burst: u32) -> Option<RateLimit> {
    let burst = if burst == 0 { per_second } else { burst };
    (per_second > 0).then_some(RateLimit { per_second, burst })
}

section! {
    pub struct Billing {
        /// A label. It has no effect on prices.
        pub currency: String = text(currency),
    }
}

fn currency(text: &str) -> Result<String, String> {
    let is_valid = (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let expected = "1 to 16 visible ASCII characters such as \"USD\"";
    accept_if(text, is_valid, expected)
}

section! {
    /// `[first_run]`: the initial content of an empty data directory.
    pub struct FirstRun {
        /// The balance of the account `default`.
        #[serde(serialize_with = "amounts::as_string")]
        pub balance: Decimal = text(amount),
    }
}

section! {
    /// `[log]`: the log on standard error.
    pub struct Log {
        /// A valid `tracing_subscriber::EnvFilter`.
        pub filter: String = text(log_filter),
        pub format: LogFormat = text(variant("\"text\" or \"json\"")),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

section! {
    /// `[otlp]`: traces for an OpenTelemetry collector.
    pub struct Otlp {
        /// The URL of the collector, without a slash at the end. `None`: no traces.
        #[serde(serialize_with = "render::or_blank")]
        pub endpoint: Option<String> = redacted(or_empty(base_url)),
        /// The share of jobs that are traced, from 0 to 1.
        pub sample_ratio: f64 = number(0.0..=1.0),
        pub service_name: String = text(service_name),
        /// Of one export.
        timeout_seconds: u64 = integer(1..=300) => timeout: Duration = Duration::from_secs,
        /// Sent with every export.
        pub headers: BTreeMap<String, Secret> = headers,
    }
}

fn service_name(text: &str) -> Result<String, String> {
    let is_valid = (1..=128).contains(&text.len()) && !text.chars().any(char::is_control);
    accept_if(text, is_valid, "a name of 1 to 128 bytes")
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours.saturating_mul(3600))
}

/// `None` for 0, which means "forever".
fn days(days: u64) -> Option<Duration> {
    (days > 0).then(|| Duration::from_secs(days.saturating_mul(86_400)))
}
