//! The state of the service: queue, running jobs, throughput, back ends, webhooks.

use crate::schema::{Count, PerTier};
use crate::text::{HealthWord, Moment, ProcessStatusWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tintype_storage::domain::time::Timestamp;

/// How the process stands.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ProcessStatus {
    /// `ok` for a process that answers, `ready` for one that can take jobs.
    pub status: ProcessStatusWord,
}

/// The figures of the whole service.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Stats {
    /// Jobs that wait, by model.
    #[schemars(with = "PerTier<Count>")]
    pub queued: BTreeMap<&'static str, usize>,
    /// Jobs that are being processed.
    #[schemars(with = "Count")]
    pub running: usize,
    /// Jobs that are not over.
    #[schemars(with = "Count")]
    pub live_jobs: usize,
    /// What the last hour has brought.
    pub throughput: Throughput,
    /// The back ends, in the order of their names.
    pub backends: Vec<Backend>,
    /// Deliveries that are pending; at 10,000 the counting stops.
    #[schemars(with = "Count")]
    pub webhooks_pending: usize,
    /// When all records of the running service were last exported, as `tintype backup` does.
    pub last_export_at: Option<Moment>,
}

/// Jobs that have ended lately.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Throughput {
    /// The span that is counted over.
    #[schemars(with = "Count")]
    pub window_seconds: u64,
    /// What ended before this moment is not counted: the span's beginning, or the service's start where that is later.
    pub since: Moment,
    /// Jobs that are done.
    #[schemars(with = "Count")]
    pub done: u64,
    /// Jobs that failed.
    #[schemars(with = "Count")]
    pub failed: u64,
}

/// How a back end is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Backend {
    /// The operator's name for it.
    pub name: String,
    /// From what was seen since the start: `unknown` before the first contact, `degraded` after a failed try, `down` while it is not
    /// used, `probing` while one run tests it.
    pub health: HealthWord,
    /// Faults in a row.
    #[schemars(with = "Count")]
    pub faults: u32,
    /// Seconds until the next probe, while it is down.
    #[schemars(with = "Option<Count>")]
    pub probe_in_seconds: Option<u64>,
    /// Runs that it takes at a time.
    #[schemars(with = "Count")]
    pub places: usize,
    /// So many from several nodes together, and not from each of them.
    pub shared: bool,
    /// Runs that it has from the process that answers.
    #[schemars(with = "Count")]
    pub running: usize,
    /// When it last answered as it should, if only with a refusal.
    pub last_answer_at: Option<Moment>,
    /// What went wrong last.
    pub last_error: Option<BackendError>,
    /// Its tries that ended within the last hour.
    pub last_hour: BackendTries,
}

/// The newest tries of a back end: those of the last hour, 1,000 at most.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendTries {
    /// All of them.
    #[schemars(with = "Count")]
    pub tries: usize,
    /// Those that failed by the back end's fault.
    #[schemars(with = "Count")]
    pub failed: usize,
    /// Milliseconds within which half of the images were made.
    #[schemars(with = "Option<Count>")]
    pub p50_ms: Option<u64>,
    /// Milliseconds within which 95 of 100 images were made.
    #[schemars(with = "Option<Count>")]
    pub p95_ms: Option<u64>,
}

/// What a test of a back end found that makes no image.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendTest {
    /// The operator's name for the back end.
    pub name: String,
    /// Did all work?
    pub ok: bool,
    /// What works.
    pub works: Vec<String>,
    /// What does not, and why.
    pub fails: Vec<String>,
}

/// What went wrong at a back end.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackendError {
    /// The operator's name for the back end, where it is not given around.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub backend: Option<String>,
    /// When.
    pub at: Moment,
    /// What happened, for the operator: it may name addresses of the set-up.
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
