//! The native interface under `/api/v1` and the operator's under `/admin/v1`.

pub(crate) mod admin;
mod api_router;
mod balance;
mod documents;
mod dry_run;
mod events;
pub(crate) mod generations;
mod health;
pub(crate) mod job_list;
pub(crate) mod jobs;
mod key;
mod long_poll;
mod metrics;
pub(crate) mod models;
mod openapi;
mod operations;
mod routes;
mod transactions;

pub use documents::documents;
pub use metrics::configure as configure_metrics;
pub use openapi::Documents;
pub use routes::configure;
