//! Computes statements of accounts from their ledgers: the balances at two moments, and what changed between them.

use super::ledger::LedgerFilter;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::paging::{TimeRange, Window};
use std::collections::BTreeMap;
use tintype_api::{Statement, StatementLine};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry};
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, Store, StoreError};

/// Entries read at a time.
const STEP: usize = 1_000;
/// A page ends after the account with which it has read this many entries.
const MAX_SCANNED: usize = 100_000;

#[derive(Clone, Copy, Default)]
pub struct StatementFilter {
    /// `None` matches every account.
    pub account: Option<AccountId>,
    pub range: TimeRange,
    /// Group the charges by model, resolution and price.
    pub with_lines: bool,
}

/// The statements of accounts that were opened before the end of the range, oldest account first.
pub async fn page(
    core: &Core,
    window: Window,
    filter: StatementFilter,
) -> Result<Page<Statement>, Error> {
    let (store, currency) = (core.store.clone(), core.currency.clone());
    // On the blocking pool, because it may read many entries.
    blocking(move || read(&store, &currency, window, filter)).await
}

fn read(
    store: &Store,
    currency: &str,
    window: Window,
    filter: StatementFilter,
) -> Result<Page<Statement>, StoreError> {
    let accounts = match filter.account {
        Some(account) => Page {
            items: store.account(account).wait()?.into_iter().collect(),
            next: None,
        },
        None => store.accounts(window.limit, window.after).wait()?,
    };
    let (mut items, mut scanned) = (Vec::new(), 0);
    for account in accounts.items {
        if scanned >= MAX_SCANNED {
            // This account is the first one of the next page.
            let next = items.last().map(|(id, _): &(AccountId, _)| id.0);
            return Ok(Page {
                items: items.into_iter().map(|(_, it)| it).collect(),
                next: next.map(|it| it.into_bytes()),
            });
        }
        let range = filter.range;
        if range.to.is_none_or(|to| account.created_at <= to) {
            let mut sums = Sums::default();
            scanned += sums.read(store, account.id, &filter)?;
            items.push((account.id, sums.into_statement(account, currency, &filter)));
        }
    }
    Ok(Page {
        items: items.into_iter().map(|(_, it)| it).collect(),
        next: accounts.next,
    })
}

/// The model and resolution of charged jobs, unless retention has deleted them, and the price of one.
type Group = (Option<(Tier, Resolution)>, Amount);

#[derive(Default)]
struct Sums {
    /// After all entries, and then without those after the range.
    closing: Option<Amount>,
    deposits: Amount,
    refunds: Amount,
    adjustments: Amount,
    charges: Amount,
    /// The number and the sum of the charges.
    groups: BTreeMap<Group, (u64, Amount)>,
}

impl Sums {
    /// Reads the entries of the range, newest first. Later entries stay below the first one that was read, so writes meanwhile change
    /// nothing. Returns the number of entries.
    fn read(
        &mut self,
        store: &Store,
        account: AccountId,
        filter: &StatementFilter,
    ) -> Result<usize, StoreError> {
        let ledger = LedgerFilter {
            range: filter.range,
            ..LedgerFilter::default()
        };
        let (mut scanned, mut after) = (0, None);
        loop {
            let page = ledger.read(store, account, STEP, after)?;
            scanned += page.items.len();
            let mut charges = Vec::new();
            for entry in &page.items {
                let fault = |error: AmountError| StoreError::Inconsistent {
                    account,
                    fault: error.to_string(),
                };
                self.add(entry, &filter.range).map_err(fault)?;
                if let Some(job) = entry.job.filter(|_| is_charge_of(entry, filter)) {
                    charges.push((job, entry.amount.negated()));
                }
            }
            self.group(store, account, &charges)?;
            match page.next {
                Some(last) => after = Some(last),
                None => return Ok(scanned),
            }
        }
    }

    fn add(&mut self, entry: &LedgerEntry, range: &TimeRange) -> Result<(), AmountError> {
        let closing = self.closing.unwrap_or(entry.balance_after);
        self.closing = Some(closing);
        if range.to.is_some_and(|to| to < entry.created_at) {
            self.closing = Some(closing.minus(entry.amount)?);
        }
        if range.contains(entry.created_at) {
            let sum = match entry.kind {
                EntryKind::Deposit if entry.refunded_job().is_some() => &mut self.refunds,
                EntryKind::Deposit => &mut self.deposits,
                EntryKind::Adjustment => &mut self.adjustments,
                EntryKind::Charge => &mut self.charges,
            };
            *sum = sum.plus(entry.amount)?;
        }
        Ok(())
    }

    /// Groups charges: jobs with their prices.
    fn group(
        &mut self,
        store: &Store,
        account: AccountId,
        charges: &[(JobId, Amount)],
    ) -> Result<(), StoreError> {
        let ids: Vec<JobId> = charges.iter().map(|(job, _)| *job).collect();
        let jobs = store.ended_jobs(account, &ids).wait()?;
        for ((_, price), job) in charges.iter().zip(jobs) {
            let model = job.map(|it| (it.tier, it.resolution));
            let (images, charged) = self.groups.entry((model, *price)).or_default();
            *images += 1;
            // The sum of all charges is within the range.
            *charged = charged.plus(*price).unwrap_or(*charged);
        }
        Ok(())
    }

    fn into_statement(
        self,
        account: Account,
        currency: &str,
        filter: &StatementFilter,
    ) -> Statement {
        let closing = self.closing.unwrap_or_default();
        let changes = [self.deposits, self.refunds, self.adjustments, self.charges];
        // The ledger has had each of these balances.
        let opening = changes
            .iter()
            .fold(closing, |sum, it| sum.minus(*it).unwrap_or(sum));
        let line = |((model, price), (images, charged)): (Group, (u64, Amount))| StatementLine {
            model: model.map(|(tier, _)| tier.as_str().into()),
            resolution: model.map(|(_, resolution)| resolution.as_str().into()),
            unit_price: price.into(),
            images,
            charged: charged.into(),
        };
        let lines = self.groups.into_iter().map(line);
        Statement {
            account_id: account.id.into(),
            name: account.name,
            currency: currency.to_owned(),
            opening: opening.into(),
            deposits: self.deposits.into(),
            refunds: self.refunds.into(),
            adjustments: self.adjustments.into(),
            charges: self.charges.into(),
            closing: closing.into(),
            lines: filter.with_lines.then(|| lines.collect()),
        }
    }
}

fn is_charge_of(entry: &LedgerEntry, filter: &StatementFilter) -> bool {
    filter.with_lines && entry.kind == EntryKind::Charge && filter.range.contains(entry.created_at)
}
