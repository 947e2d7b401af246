//! The backends: their slots, their circuit breakers, and the selection of one for a run.

mod breaker;
mod failover_queue;
mod health;
mod lease;
mod pool;
mod selection;
mod weighted_round_robin;

pub(crate) use breaker::{BreakerEvent, Failure};
pub(crate) use failover_queue::{LeaseKind, LeaseRequest};
pub use health::{BackendError, BackendHealth, Health};
pub(crate) use lease::BackendLease;
pub use pool::{Backend, Route, Routes};
pub(crate) use pool::{BackendPool, SlotDemand};
pub(crate) use selection::BackendSelection;
