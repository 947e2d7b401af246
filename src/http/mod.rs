//! The native interface under `/api/v1` and the operator's under `/admin/v1`.

mod admin;
mod api_router;
mod batches;
mod documents;
mod events;
mod files;
mod generations;
mod health;
mod job_list;
mod jobs;
mod long_poll;
mod metrics;
mod openapi;
mod own_account;
mod routes;
mod status;

pub use documents::documents;
pub use metrics::configure as configure_metrics;
pub use openapi::Documents;
pub use routes::configure;
