//! The public status of the service.

use crate::schema::Count;
use crate::text::{Moment, ServiceWord, TierWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Does the service accept jobs, and how long do they wait? Every field is always present.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ServiceStatus {
    /// `up`: all models accept jobs. `limited`: some models are paused. `paused`: all models are paused. `stopping`: the service shuts down.
    pub status: ServiceWord,
    /// The time of this status.
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
    /// The operator's reason for the pause, if there is one.
    pub reason: Option<String>,
    /// How long a new job would wait. `null` if the model is paused, or no job of the model has started in the last minutes.
    #[schemars(with = "Option<Count>")]
    pub wait_seconds: Option<u64>,
}
