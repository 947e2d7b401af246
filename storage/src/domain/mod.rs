//! The pure rules of jobs, money, keys and webhooks.

// First, because the modules below use its macro `id!`.
#[macro_use]
pub mod ids;

pub mod account;
pub mod account_limits;
pub mod adoption;
pub mod amount;
pub mod api_key;
pub mod aspect_ratio;
pub mod audit_log;
pub mod batch;
pub mod batch_member;
pub mod caller;
pub mod canonical;
pub mod catalog;
pub mod daily_usage;
pub mod delivery;
pub mod file_batch;
#[cfg(test)]
mod golden;
pub mod job;
pub mod json;
pub mod json_length;
pub mod ledger;
pub mod lock;
pub mod node;
pub mod operator_event;
pub mod pause;
pub mod payload;
pub mod person;
pub mod queue_entry;
pub mod rate_count;
pub mod request;
pub mod search_block;
pub mod secret;
pub mod shard;
pub mod shared_slots;
pub mod signature;
pub mod spending;
pub mod tier;
pub mod time;
pub mod verification;
pub mod webhook;
