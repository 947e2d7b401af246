//! The use cases: what callers, operators and people may ask of the service, whichever interface they ask through.

pub mod accounts;
pub(crate) mod api_key_cache;
pub mod api_keys;
pub mod audit_context;
pub(crate) mod availability;
pub(crate) mod balance_check;
pub(crate) mod caller;
pub mod commit;
pub(crate) mod deliveries;
pub(crate) mod deposits;
pub mod error;
pub(crate) mod generation_request;
pub(crate) mod idempotency;
pub(crate) mod input_ingestion;
pub(crate) mod job_list;
pub(crate) mod jobs;
pub(crate) mod list;
pub(crate) mod load_shedding;
pub(crate) mod pause;
pub(crate) mod people;
pub(crate) mod rate_limit;
pub(crate) mod result_url;
pub(crate) mod sessions;
pub mod state;
pub(crate) mod submit_generation;
pub(crate) mod tokens;
pub(crate) mod webhooks;

pub use audit_context::AuditContext;
pub use rate_limit::Elapsed;
