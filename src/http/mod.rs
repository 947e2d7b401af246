//! The HTTP edge: what is asked, by whom, and how the answer is told.

mod admin;
pub(crate) mod admission;
mod auth;
mod author;
mod balance;
pub(crate) mod body;
mod client_address;
mod envelope;
pub(crate) mod failures;
pub(crate) mod funds;
mod generations;
mod health;
pub(crate) mod idempotency;
mod jobs;
mod key_ring;
pub(crate) mod open;
pub mod problem;
mod routes;
pub mod state;
mod unread;
mod wire;

pub use admin::{issue_key, open_account, remove_key};
pub use author::Author;
pub use envelope::envelope;
pub use key_ring::KeyRing;
pub use routes::configure;
