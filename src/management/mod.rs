//! Handlers shared by the operator interface and the panel.

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod deliveries;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod people;
pub(crate) mod service;
pub(crate) mod statements;
pub(crate) mod webhooks;
