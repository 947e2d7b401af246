//! Statistics of the service: queue, running jobs, throughput, backends, webhooks.

use crate::schema::{Count, PerTier};
use crate::text::{HealthWord, Moment, ProcessStatusWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tintype_storage::domain::time::Timestamp;

/// The status of the process.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProcessStatus {
    /// `ok`: the process answers. `ready`: the process accepts jobs.
    pub status: ProcessStatusWord,
}

/// Statistics of the service.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Stats {
    /// The number of queued jobs, by model.
    #[schemars(with = "PerTier<Count>")]
    pub queued: BTreeMap<&'static str, usize>,
    /// The number of running jobs.
    #[schemars(with = "Count")]
    pub running: usize,
    /// The number of jobs that have not ended.
    #[schemars(with = "Count")]
    pub live_jobs: usize,
    /// The jobs that ended in the last hour.
    pub throughput: Throughput,
    /// The backends, by name.
    pub backends: Vec<Backend>,
    /// The number of pending deliveries. Counting stops at 10,000.
    #[schemars(with = "Count")]
    pub webhooks_pending: usize,
    /// When the running service last exported all records, for example for `tintype backup`.
    pub last_export_at: Option<Moment>,
}

/// The number of recently ended jobs.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Throughput {
    /// The length of the time window.
    #[schemars(with = "Count")]
    pub window_seconds: u64,
    /// The start of the window, or of the service if that is later.
    pub since: Moment,
    /// The number of jobs that are done.
    #[schemars(with = "Count")]
    pub done: u64,
    /// The number of failed jobs.
    #[schemars(with = "Count")]
    pub failed: u64,
}

/// The state of a backend.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Backend {
    /// The backend's name in the configuration.
    pub name: String,
    /// The health since the start. `unknown`: not used yet. `degraded`: the last attempt failed. `down`: not used. `probing`: one run
    /// tests the backend.
    pub health: HealthWord,
    /// The number of consecutive failures.
    #[schemars(with = "Count")]
    pub faults: u32,
    /// Seconds until the next probe, if the backend is down.
    #[schemars(with = "Option<Count>")]
    pub probe_in_seconds: Option<u64>,
    /// The maximum of concurrent runs.
    #[schemars(with = "Count")]
    pub places: usize,
    /// Does `places` limit all nodes together, instead of each node?
    pub shared: bool,
    /// The number of runs from the responding node.
    #[schemars(with = "Count")]
    pub running: usize,
    /// When the backend last sent a valid response, even a refusal.
    pub last_answer_at: Option<Moment>,
    /// The last error.
    pub last_error: Option<BackendError>,
    /// The attempts that ended in the last hour.
    pub last_hour: BackendTries,
}

/// The attempts of the last hour, at most the newest 1,000.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendTries {
    /// The number of attempts.
    #[schemars(with = "Count")]
    pub tries: usize,
    /// The number of attempts that failed because of the backend.
    #[schemars(with = "Count")]
    pub failed: usize,
    /// The median time to generate an image, in milliseconds.
    #[schemars(with = "Option<Count>")]
    pub p50_ms: Option<u64>,
    /// The 95th percentile of the time to generate an image, in milliseconds.
    #[schemars(with = "Option<Count>")]
    pub p95_ms: Option<u64>,
}

/// The result of a backend test, which generates no image.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendTest {
    /// The backend's name in the configuration.
    pub name: String,
    /// Did all checks pass?
    pub ok: bool,
    /// The checks that passed.
    pub works: Vec<String>,
    /// The checks that failed, with reasons.
    pub fails: Vec<String>,
}

/// An error of a backend.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendError {
    /// The backend's name. Absent inside a backend object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub backend: Option<String>,
    /// When the error occurred.
    pub at: Moment,
    /// The error, for the operator: it may contain internal addresses.
    pub message: String,
}

impl BackendError {
    pub fn new(backend: Option<String>, at: Timestamp, message: String) -> Self {
        Self {
            backend,
            at: at.into(),
            message,
        }
    }
}
