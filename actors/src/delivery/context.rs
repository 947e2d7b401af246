//! The dependencies of the delivery actor.

use super::scheduler::DeliveryLimits;
use crate::ports::Transport;
use crate::process_context::ProcessContext;
use std::sync::Arc;
use std::time::Duration;

pub struct DeliveryContext {
    pub process: Arc<ProcessContext>,
    pub options: DeliveryOptions,
}

pub struct DeliveryOptions {
    pub transport: Arc<dyn Transport>,
    /// The delay before each retry.
    pub retry_delays: Vec<Duration>,
    pub limits: DeliveryLimits,
}
