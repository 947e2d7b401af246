//! The ledger of an account.

use crate::field::{DepositAmount, Optional, Reference, Required};
use crate::text::{EntryWord, Id, Moment, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::ledger::LedgerEntry;

/// A request to deposit money, or to correct a deposit.
pub struct NewDeposit {
    pub amount: Amount,
    pub reference: Option<String>,
}

body!(NewDeposit {
    /// Not zero. A negative amount corrects a deposit. It cannot reduce `balance` below `reserved`.
    amount: Required<DepositAmount>,
    /// Your reference, such as an invoice number.
    reference: Optional<Reference>,
});

/// A ledger entry.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Transaction {
    /// The entry's id.
    pub transaction_id: Id,
    /// `deposit`: money paid in. `charge`: the price of an image. `adjustment`: a negative correction.
    pub kind: EntryWord,
    /// Negative for a charge.
    pub amount: Money,
    /// The balance after this entry.
    pub balance_after: Money,
    /// The job that was charged, or `null`.
    pub job_id: Option<Id>,
    /// The operator's reference.
    pub reference: Option<String>,
    /// When the entry was written.
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
