//! The delivery actor: owns the schedule of pending deliveries, and makes their attempts.

mod actor;
mod change;
mod command;
mod context;
mod depths;
mod failure_log;
mod held_shards;
mod receiver;
mod receiver_health;
mod restart;
mod scheduler;

pub use actor::DeliveryActor;
pub use command::{DeliveryCommand, DeliveryDepths, DeliveryError, RedeliveryChange, ReplySender};
pub use context::{DeliveryContext, DeliveryOptions};
pub use scheduler::DeliveryLimits;
