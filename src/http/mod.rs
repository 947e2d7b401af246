//! The HTTP edge: what is asked, by whom, and how the answer is told.

mod admin;
mod auth;
mod balance;
mod body;
mod envelope;
mod failures;
mod funds;
mod generations;
mod health;
mod idempotency;
mod jobs;
mod key_ring;
pub mod problem;
mod routes;
pub mod state;
mod unread;
mod wire;

pub use admin::{issue_key, open_account, remove_key};
pub use envelope::envelope;
pub use key_ring::KeyRing;
pub use routes::configure;
