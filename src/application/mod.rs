//! The use cases: what callers, operators and people may ask of the service, whichever interface they ask through.

pub(crate) mod api_key_cache;
pub(crate) mod audit_context;
pub(crate) mod availability;
pub(crate) mod balance_check;
pub(crate) mod caller;
pub(crate) mod commit;
pub(crate) mod error;
pub(crate) mod generation_request;
pub(crate) mod idempotency;
pub(crate) mod input_ingestion;
pub(crate) mod load_shedding;
pub(crate) mod rate_limit;
pub mod state;
pub(crate) mod submit_generation;
pub(crate) mod tokens;

pub use audit_context::AuditContext;
pub use rate_limit::Elapsed;
