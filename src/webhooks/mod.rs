//! Webhooks at the edge: the vault of their secrets, and the sender that makes the attempts of deliveries.

mod sender;
mod vault;

pub use sender::{Sender, SenderOptions};
pub use vault::{Vault, VaultError};
