//! Deposits, corrections of deposits, and refunds of jobs.

use super::Decisions;
use crate::domain::amount::{Amount, AmountError};
use crate::domain::ids::{JobId, TransactionId};
use crate::domain::job::JobStatus;
use crate::domain::ledger::{EntryKind, LedgerEntry, LedgerError};
use crate::domain::time::Timestamp;
use crate::store::commands::{Deposit, DepositError, IdempotencyUse, Refund, RefundError};
use crate::store::tables::{ACCOUNT_REFUNDS, JOB_REFUNDS, LEDGER};
use crate::store::{Gather as _, IdempotentCall, Made, StoreError};

impl Decisions<'_> {
    /// Deposits or withdraws money.
    pub fn deposit(
        &mut self,
        id: TransactionId,
        deposit: &Deposit,
        now: Timestamp,
    ) -> Result<LedgerEntry, DepositError> {
        if let Some(first) = self.first_deposit(deposit.idempotency.as_ref(), now)? {
            return first.ok_or(DepositError::KeyReused);
        }
        let entry = self.add_money(id, deposit.amount, None, &deposit.reference, now)?;
        self.remember(deposit.idempotency.as_ref(), Made::Entry(id), now);
        Ok(entry)
    }

    /// Gives back the charge of a job, or a part of it.
    pub fn refund(
        &mut self,
        id: TransactionId,
        refund: &Refund,
        now: Timestamp,
    ) -> Result<LedgerEntry, RefundError> {
        if let Some(first) = self.first_deposit(refund.idempotency.as_ref(), now)? {
            return first.ok_or(RefundError::KeyReused);
        }
        let account = self.next.account.id;
        let of_job = (account, refund.job);
        let reads = (
            self.known_job(refund.job),
            self.records.read(&JOB_REFUNDS, &of_job),
            self.records.read(&ACCOUNT_REFUNDS, &account),
        );
        let (job, refunded, of_account) = reads.gather()?;
        let job = job.ok_or(RefundError::UnknownJob)?;
        let (refunded, of_account) = (refunded.unwrap_or_default(), of_account.unwrap_or_default());
        if job.state.status() != JobStatus::Done {
            return Err(RefundError::NotCharged(job.state.as_str()));
        }
        let left = self.or_inconsistent(job.price.minus(refunded))?;
        let amount = refund.amount.unwrap_or(left);
        if amount.is_negative() {
            return Err(LedgerError::Range(AmountError::Negative).into());
        }
        if amount > left || left.is_zero() {
            let charge = job.price;
            return Err(RefundError::ExceedsCharge { left, charge });
        }
        // Run everything that can fail first: an error leaves the round unchanged and fit to be committed.
        let refunded = self.or_inconsistent(refunded.plus(amount))?;
        let of_account = self.or_inconsistent(of_account.plus(amount))?;
        let entry = self.add_money(id, amount, Some(refund.job), &refund.reference, now)?;
        self.records.put(JOB_REFUNDS.put(&of_job, &refunded));
        self.records.put(ACCOUNT_REFUNDS.put(&account, &of_account));
        self.remember(refund.idempotency.as_ref(), Made::Entry(id), now);
        Ok(entry)
    }

    /// The ledger entry of the key's first use; `Some(None)` if the first use was a different request.
    fn first_deposit(
        &mut self,
        used: Option<&IdempotencyUse>,
        now: Timestamp,
    ) -> Result<Option<Option<LedgerEntry>>, StoreError> {
        let first = match self.first_use(IdempotentCall::Deposit, used, now)? {
            Some(Some(Made::Entry(first))) => first,
            Some(_) => return Ok(Some(None)),
            None => return Ok(None),
        };
        let entry = self.records.read(&LEDGER, &(self.next.account.id, first))?;
        let missing = || self.inconsistent("a deposit's ledger entry is missing");
        Ok(Some(Some(entry.ok_or_else(missing)?)))
    }

    /// Changes the balance, with its ledger entry.
    fn add_money(
        &mut self,
        id: TransactionId,
        amount: Amount,
        job: Option<JobId>,
        reference: &Option<String>,
        now: Timestamp,
    ) -> Result<LedgerEntry, LedgerError> {
        self.next.account.balances = self.next.account.balances.deposit(amount)?;
        let entry = LedgerEntry {
            id,
            kind: match amount.is_negative() {
                true => EntryKind::Adjustment,
                false => EntryKind::Deposit,
            },
            amount,
            balance_after: self.next.account.balances.balance,
            job,
            reference: reference.clone(),
            created_at: now,
        };
        self.add_entry(entry.clone());
        Ok(entry)
    }
}
