//! The pure rules of jobs, money and keys.

pub mod account;
pub mod amount;
pub mod api_key;
pub mod aspect_ratio;
pub mod catalog;
pub mod ids;
pub mod job;
pub mod json;
pub mod ledger;
pub mod pause;
pub mod request;
pub mod tier;
pub mod time;
