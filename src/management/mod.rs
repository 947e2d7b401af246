//! Handlers shared by the operator interface and the panel.

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod backends;
pub(crate) mod batches;
pub(crate) mod deliveries;
pub(crate) mod deposits;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod nodes;
pub(crate) mod pause;
pub(crate) mod people;
pub(crate) mod webhooks;
