//! The HTTP edge: what is asked, by whom, and how the answer is told.

pub(crate) mod admin;
pub(crate) mod auth;
mod balance;
pub(crate) mod body;
mod envelope;
pub(crate) mod failures;
pub(crate) mod funds;
pub(crate) mod generations;
mod health;
pub(crate) mod idempotency;
pub(crate) mod jobs;
mod key_ring;
pub(crate) mod open;
pub mod problem;
mod routes;
pub mod state;
mod unread;
pub(crate) mod wire;

pub use admin::{issue_key, open_account, remove_key};
pub use envelope::envelope;
pub use key_ring::KeyRing;
pub use routes::configure;
