//! The HTTP edge: what is asked, by whom, and how the answer is told.

mod admin;
mod auth;
mod balance;
pub(crate) mod body;
mod dry_run;
mod envelope;
mod events;
pub(crate) mod failures;
pub(crate) mod funds;
mod generations;
mod health;
mod history;
pub(crate) mod idempotency;
mod jobs;
mod key;
mod key_ring;
mod models;
pub(crate) mod open;
mod paging;
pub mod problem;
mod query;
pub(crate) mod rate;
mod routes;
pub mod state;
mod transactions;
mod unread;
mod wait;
mod wire;

pub use admin::{issue_key, open_account, remove_key};
pub use envelope::envelope;
pub use key_ring::KeyRing;
pub use rate::{Elapsed, Rates, elapsed};
pub use routes::configure;
