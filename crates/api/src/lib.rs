//! Request and response types of the native and the operator API, with their schemas.
//!
//! The handlers write these responses, the command line reads them, and the OpenAPI documents contain the schemas. The crate depends
//! on `tintype_storage::domain` and on no other part of the service. The doc comment of a type or a field becomes its description
//! in the OpenAPI document.

#[macro_use]
mod body;
#[macro_use]
pub mod text;

mod account;
mod account_limits;
mod api_key;
mod audit_log;
mod batch;
mod delivery;
pub mod field;
pub mod fields;
mod job;
mod listing;
mod model;
mod node;
mod pause;
mod person;
mod problem;
pub mod schema;
mod service_status;
mod stats;
mod transaction;
pub mod visible_text;
mod webhook;

pub use account::{Account, Balance, NewAccount};
pub use account_limits::{AccountLimits, AccountUse};
pub use api_key::{
    ApiKey, OwnAddresses, OwnDailyLimit, OwnKey, OwnMaxConcurrent, OwnMonthlyLimit, Rate, Rotation,
};
pub use audit_log::AuditEntry;
pub use batch::{Batch, BatchCounts, BatchEstimate, BatchResult};
pub use body::{Body, Presence, read, read_requiring};
pub use delivery::{Attempt, Delivery, Redelivery, RedeliveryRange};
pub use field::{Optional, Required};
pub use fields::{FieldFault, Fields};
pub use job::{
    CreatedJob, Estimate, InputImage, Job, JobRecord, JobResult, ListedJob, Picture, Waiting,
};
pub use listing::Listing;
pub use model::Model;
pub use node::{Node, Nodes};
pub use pause::Switches;
pub use person::{InviteAgain, InvitePerson, Person, PersonChange};
pub use problem::{Fault, Problem};
pub use service_status::{ModelStatus, ServiceStatus};
pub use stats::{
    Backend, BackendError, BackendTest, BackendTries, ProcessStatus, Stats, Throughput,
};
pub use transaction::{NewDeposit, Transaction};
pub use webhook::{Webhook, WebhookFields};
