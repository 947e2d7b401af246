//! The status of the service, which callers see without a key.

use crate::schema::Count;
use crate::text::{Moment, ServiceWord, TierWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether jobs are accepted, and how long they wait. Every field is always there.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ServiceStatus {
    /// `up`: all models accept jobs. `limited`: some are paused. `paused`: all are. `stopping`: the service ends.
    pub status: ServiceWord,
    /// When this was so.
    pub at: Moment,
    pub models: Vec<ModelStatus>,
}

/// The status of a model.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ModelStatus {
    /// The model.
    pub id: TierWord,
    /// A paused model accepts no new jobs.
    pub paused: bool,
    /// Why it is paused, where the operator has said so.
    pub reason: Option<String>,
    /// How long a job that is submitted now would wait; `null` where no job of the model has begun in the last minutes, or it is
    /// paused.
    #[schemars(with = "Option<Count>")]
    pub wait_seconds: Option<u64>,
}
