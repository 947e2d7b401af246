//! What each call is for, takes, answers and refuses, in words: the descriptions that the paths are registered with.

pub mod accounts;
pub mod batches;
pub mod catalogue;
pub mod deliveries;
mod events;
pub mod examples;
pub mod files;
pub mod generations;
pub mod jobs;
pub mod keys;
pub mod money;
pub mod operator_jobs;
pub mod people;
pub mod service;
pub mod watching;
pub mod webhooks;

pub use events::events_to_webhooks;
