//! What operators see and change: backends, pauses, the queue, events, the audit log.

pub(crate) mod audit_list;
pub(crate) mod backends;
pub mod disk_space;
pub(crate) mod operator_events;
pub mod pause;
pub(crate) mod queue;
pub(crate) mod readiness;
