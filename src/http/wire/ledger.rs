//! A line of a ledger on the wire.

use serde::Serialize;
use tintype_storage::domain::ledger::LedgerEntry;

/// A line as its account and the operator see it.
#[derive(Serialize)]
pub struct EntryView {
    transaction_id: String,
    kind: &'static str,
    amount: String,
    balance_after: String,
    job_id: Option<String>,
    reference: Option<String>,
    created_at: String,
}

impl From<LedgerEntry> for EntryView {
    fn from(entry: LedgerEntry) -> Self {
        Self {
            transaction_id: entry.id.to_string(),
            kind: entry.kind.word(),
            amount: entry.amount.to_string(),
            balance_after: entry.balance_after.to_string(),
            job_id: entry.job.map(|job| job.to_string()),
            reference: entry.reference,
            created_at: entry.created_at.to_string(),
        }
    }
}
