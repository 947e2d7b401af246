//! Request and response types of the native and the operator API, with their schemas.
//!
//! The handlers write these responses, the command line reads them, and the OpenAPI documents contain the schemas. The crate depends
//! on `domain` and `json` of `tintype_storage`, and on no other part of the service. The doc comment of a type or a field becomes its description
//! in the OpenAPI document.

#[macro_use]
mod body;
#[macro_use]
pub mod text;

mod account;
mod api_key;
mod audit_log;
mod batch;
pub mod fault_list;
pub mod field;
pub mod fields;
mod job;
mod job_page;
mod page;
mod pause;
mod person;
mod problem;
pub mod schema;
mod service;
mod statement;
pub mod visible_text;
mod webhook;

pub use account::{
    Account, AccountErasure, AccountLimits, AccountUse, Balance, NewAccount, NewDeposit,
    Transaction, Usage,
};
pub use api_key::{ApiKey, OwnKey, Rate, Rotation};
pub use audit_log::AuditEntry;
pub use batch::{Batch, BatchCounts, BatchEstimate, BatchResult};
pub use body::{Body, Presence, read, read_requiring};
pub use field::{Optional, Required};
pub use fields::{FieldFault, Fields};
pub use job::{
    CreatedJob, Estimate, InputImage, Job, JobRecord, JobResult, ListedJob, Picture, Waiting,
};
pub use job_page::JobPage;
pub use page::Page;
pub use pause::Switches;
pub use person::{InviteAgain, InvitePerson, Person, PersonChange};
pub use problem::Problem;
pub use service::{
    Backend, BackendError, BackendTest, BackendTries, Model, ModelStatus, Node, Nodes,
    ProcessStatus, ServiceStatus, Stats, Throughput,
};
pub use statement::{Statement, StatementLine};
pub use webhook::{Attempt, Delivery, Redelivery, RedeliveryRange, Webhook, WebhookFields};
