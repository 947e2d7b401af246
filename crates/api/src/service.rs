//! The service itself: its models, status, statistics and nodes.

use crate::schema::PerTier;
use crate::text::{
    AspectWord, HealthWord, Id, ModeWord, Moment, Money, NodeWord, ProcessStatusWord,
    ResolutionWord, ServiceWord, TierWord,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tintype_storage::domain::time::Timestamp;

/// The status of the process.
#[derive(Serialize, JsonSchema)]
pub struct ProcessStatus {
    /// `ok`: the process answers. `ready`: the process accepts jobs.
    pub status: ProcessStatusWord,
}

/// Statistics of the service.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// The number of queued jobs, by model.
    #[schemars(with = "PerTier<u64>")]
    pub queued: BTreeMap<TierWord, usize>,
    /// The number of jobs that are `processing`, including those that wait to continue after a restart.
    pub running: usize,
    /// The number of jobs that have not ended.
    pub live_jobs: usize,
    /// The jobs that ended in the last hour.
    pub throughput: Throughput,
    /// The backends, by name.
    pub backends: Vec<Backend>,
    /// The number of pending deliveries. Counting stops at 10,000.
    pub webhooks_pending: usize,
    /// When the last backup that was stored, or the last other export, read the records of the running service. `null`: never.
    pub last_export_at: Option<Moment>,
}

/// The number of recently ended jobs.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// The length of the time window, in seconds.
    pub window_seconds: u64,
    /// The start of the window, or of the service if that is later.
    pub since: Moment,
    /// The number of jobs that are done.
    pub done: u64,
    /// The number of failed jobs, including the canceled ones.
    pub failed: u64,
    /// The number of jobs that were canceled before they started, or expired.
    #[serde(default)]
    pub canceled: u64,
}

/// The state of a backend.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Backend {
    /// The backend's name in the configuration.
    pub name: String,
    /// `unknown`: not used since the start. `degraded`: the last attempt failed. `down`: not used. `probing`: one run tests the backend.
    pub health: HealthWord,
    /// Has the operator paused the backend, so that it gets no new attempt?
    #[serde(default)]
    pub paused: bool,
    /// The reason of the pause, or `null`.
    pub paused_reason: Option<String>,
    /// The number of consecutive failures.
    pub faults: u32,
    /// Seconds until the next probe, if the backend is down, or `null`.
    pub probe_in_seconds: Option<u64>,
    /// The maximum of concurrent runs.
    pub places: usize,
    /// Does `places` limit all nodes together, instead of each node?
    pub shared: bool,
    /// The number of runs from the responding node.
    pub running: usize,
    /// When the backend last sent a valid response, even a refusal. `null`: not since the start.
    pub last_answer_at: Option<Moment>,
    /// The last error, or `null`.
    pub last_error: Option<BackendError>,
    /// The attempts that ended in the last hour.
    pub last_hour: BackendTries,
}

/// The attempts of the last hour, at most the newest 1,000.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct BackendTries {
    /// The number of attempts.
    pub tries: usize,
    /// The number of attempts that failed because of the backend.
    pub failed: usize,
    /// The median time to generate an image, in milliseconds. `null` without images.
    pub p50_ms: Option<u64>,
    /// The 95th percentile of the time to generate an image, in milliseconds. `null` without images.
    pub p95_ms: Option<u64>,
}

/// The result of a backend test, which generates no image.
#[derive(Serialize, Deserialize, JsonSchema)]
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

/// A model, with its options and prices.
#[derive(Serialize, JsonSchema)]
pub struct Model {
    /// The model's name.
    pub id: TierWord,
    /// With input images and without.
    pub modes: Vec<ModeWord>,
    /// The supported aspect ratios.
    pub aspect_ratios: Vec<AspectWord>,
    /// The supported resolutions.
    pub resolutions: Vec<ResolutionWord>,
    /// The price of each resolution, in the service's currency.
    pub prices: BTreeMap<&'static str, Money>,
    /// Is the model paused, so that requests are answered with 503?
    pub paused: bool,
    /// The operator's reason, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_reason: Option<String>,
    /// May your key use the model?
    pub allowed: bool,
}

/// Does the service accept jobs, and how long do they wait? Every field is always present.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ServiceStatus {
    /// `up`: all models accept jobs. `limited`: some models are paused, or the queue is full. `paused`: all models are paused. `stopping`: the service shuts down.
    pub status: ServiceWord,
    /// The time of this status.
    pub at: Moment,
    /// The status of each model.
    pub models: Vec<ModelStatus>,
}

/// The status of a model.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ModelStatus {
    /// The model.
    pub id: TierWord,
    /// A paused model accepts no new jobs.
    pub paused: bool,
    /// Why the model accepts no new jobs: the operator's reason for the pause, if there is one, or that the queue is full.
    pub reason: Option<String>,
    /// How long a new job would wait, in seconds. `null` if the model accepts no new jobs, or its recent jobs do not show how fast it is.
    pub wait_seconds: Option<u64>,
}

/// The nodes that share the records.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Nodes {
    /// The nodes as the responding node sees them, in the order of their starts. A process with a local store lists only itself.
    pub data: Vec<Node>,
    /// Send it as `cursor` to get the next page. `null` on the last page.
    pub next_cursor: Option<String>,
    /// Are the records in a database that several nodes can share?
    pub shared: bool,
    /// Problems of all nodes to look into: nodes with different versions or configurations, or a node that does not answer.
    pub warnings: Vec<String>,
}

/// A node: a process that serves the records.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// The node's id, new at each start. `null` for a process with a local store.
    pub node_id: Option<Id>,
    /// Is this the node that answers the request?
    pub answers: bool,
    /// `leaving`: the node accepts no more jobs and stops after its running ones. `dead`: the other nodes requeue its jobs.
    pub state: NodeWord,
    /// The version of the program. Of a node, it ends with a checksum of the executable: `0.1.0+5d0c9a31`.
    pub version: String,
    /// The host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// When the node started, by its own clock.
    pub started_at: Moment,
    /// The number of running jobs.
    pub running: u64,
    /// The age of the last heartbeat in milliseconds, by the clock of the responding node.
    pub beat_age_ms: u64,
    /// A fingerprint of the configuration, equal on all nodes with the same configuration. It reveals no secret.
    pub configuration: String,
}
