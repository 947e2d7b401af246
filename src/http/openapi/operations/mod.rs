//! The OpenAPI descriptions of all calls.

pub mod accounts;
pub mod batches;
pub mod deliveries;
mod events;
pub mod examples;
pub mod files;
pub mod generations;
pub mod jobs;
pub mod keys;
pub mod operator_jobs;
pub mod operator_service;
pub mod own_account;
pub mod people;
pub mod service;
pub mod webhooks;

pub use events::events_to_webhooks;
