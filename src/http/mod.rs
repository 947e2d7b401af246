//! The native interface under `/api/v1` and the operator's under `/admin/v1`.

mod admin;
mod api_router;
mod balance;
mod batches;
mod documents;
mod events;
mod files;
mod generations;
mod health;
mod job_list;
mod jobs;
mod key;
mod long_poll;
mod metrics;
mod models;
mod openapi;
mod operations;
mod routes;
mod status;
mod transactions;

pub use documents::documents;
pub use metrics::configure as configure_metrics;
pub use openapi::Documents;
pub use routes::configure;
