//! The native interface under `/api/v1` and the operator's under `/admin/v1`.

pub(crate) mod admin;
mod balance;
mod described;
mod dry_run;
mod events;
pub(crate) mod generations;
mod health;
pub(crate) mod history;
pub(crate) mod jobs;
mod key;
mod metrics;
pub(crate) mod models;
mod openapi;
mod routes;
mod surface;
mod transactions;
mod wait;

pub use metrics::configure as configure_metrics;
pub use openapi::Documents;
pub use routes::configure;
