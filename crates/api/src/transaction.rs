//! The ledger of an account.

use crate::field::{DepositAmount, Optional, Reference, Required};
use crate::text::{EntryWord, Id, Moment, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::ledger::LedgerEntry;

/// A deposit, or a correction of one.
pub struct NewDeposit {
    pub amount: Amount,
    pub reference: Option<String>,
}

body!(NewDeposit {
    /// Not zero. A negative one takes money back, never so much that `balance` falls below `reserved`.
    amount: Required<DepositAmount>,
    /// Your own words, such as an invoice number.
    reference: Optional<Reference>,
});

/// A line as its account and the operator see it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Transaction {
    /// The line's id.
    pub transaction_id: Id,
    /// What it is: money paid in, the price of a picture, or a correction downwards.
    pub kind: EntryWord,
    /// Signed: a charge is negative.
    pub amount: Money,
    /// `balance` after this line.
    pub balance_after: Money,
    /// Only of a charge: the job that it paid for.
    pub job_id: Option<Id>,
    /// The operator's own words.
    pub reference: Option<String>,
    /// When.
    pub created_at: Moment,
}

impl From<LedgerEntry> for Transaction {
    fn from(entry: LedgerEntry) -> Self {
        Self {
            transaction_id: entry.id.into(),
            kind: entry.kind.word().into(),
            amount: entry.amount.into(),
            balance_after: entry.balance_after.into(),
            job_id: entry.job.map(Id::from),
            reference: entry.reference,
            created_at: entry.created_at.into(),
        }
    }
}
