//! The use cases of callers, operators and people, shared by all interfaces.

pub mod accounts;
pub(crate) mod blocking;
pub mod caller;
pub mod core;
pub mod credentials;
pub mod erasure;
pub mod error;
pub(crate) mod file_batches;
pub(crate) mod fingerprint;
pub(crate) mod idempotency;
pub mod images;
pub mod jobs;
pub mod limits;
pub mod nodes;
pub mod operations;
pub(crate) mod paging;
pub(crate) mod people;
pub mod services;
pub mod settings;
pub(crate) mod submission;
pub(crate) mod usage;
pub(crate) mod webhooks;

pub use self::caller::Caller;
pub use self::core::audit_context::AuditContext;
pub use self::limits::rate_limit::Elapsed;
