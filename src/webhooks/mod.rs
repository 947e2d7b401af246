//! Webhooks at the edge: keeping their secrets, and making the attempts of deliveries.

mod sender;
mod vault;

pub use sender::{Sender, SenderOptions};
pub use vault::{Vault, VaultError};
