//! The use cases: what callers, operators and people may ask of the service, whichever interface they ask through.

pub(crate) mod api_key_cache;
pub(crate) mod audit_context;
pub(crate) mod commit;
pub(crate) mod error;
pub(crate) mod rate_limit;
pub mod state;
pub(crate) mod tokens;

pub use audit_context::AuditContext;
pub use rate_limit::Elapsed;
