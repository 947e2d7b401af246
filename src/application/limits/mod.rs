//! Limits of calls: rates, batches in progress, keys with damaged input images.

pub(crate) mod batch_permits;
pub mod call_limits;
pub mod damaged_inputs;
pub(crate) mod rate_limit;
