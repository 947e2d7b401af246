//! Webhooks: the vault of their secrets, the sender of deliveries, and the verification of received deliveries.

mod delivery_file;
mod sender;
mod signature_report;
mod vault;

pub use delivery_file::{DeliveryFile, DeliveryFileError};
pub use sender::Sender;
pub use signature_report::{SignatureReport, Verdict};
pub use vault::{Vault, VaultError};
