//! Webhooks at the edge: the vault of their secrets, the sender that makes the attempts of deliveries, and the check of one that was
//! received.

mod delivery_file;
mod sender;
mod signature_report;
mod vault;

pub use delivery_file::{DeliveryFile, DeliveryFileError};
pub use sender::{Sender, SenderOptions};
pub use signature_report::{SignatureReport, Verdict};
pub use vault::{Vault, VaultError};
