//! A line of a ledger on the wire.

use super::kinds;
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::ledger::LedgerEntry;

/// A line as its account and the operator see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Transaction", deny_unknown_fields)]
pub struct EntryView {
    /// The line's id.
    #[schemars(with = "kinds::Id")]
    transaction_id: String,
    /// What it is: money paid in, the price of a picture, or a correction downwards.
    #[schemars(with = "kinds::EntryWord")]
    kind: &'static str,
    /// Signed: a charge is negative.
    #[schemars(with = "kinds::Money")]
    amount: String,
    /// `balance` after this line.
    #[schemars(with = "kinds::Money")]
    balance_after: String,
    /// Only of a charge: the job that it paid for.
    #[schemars(with = "Option<kinds::Id>")]
    job_id: Option<String>,
    /// The operator's own words.
    reference: Option<String>,
    /// When.
    #[schemars(with = "kinds::Moment")]
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
