//! Reads an account's ledger in pages, with filters.

use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::paging::filter_page;
use crate::application::paging::{CLOCK_SKEW, TimeRange, Window};
use tintype_storage::domain::ids::{AccountId, JobId, moment_of};
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{IDS_AHEAD, LEDGER};
use tintype_storage::store::{Page, Store, StoreError};

/// `None` matches every entry.
#[derive(Clone, Copy, Default)]
pub struct LedgerFilter {
    pub kind: Option<EntryKind>,
    pub job: Option<JobId>,
    pub range: TimeRange,
}

impl LedgerFilter {
    pub fn matches(&self, entry: &LedgerEntry) -> bool {
        self.kind.is_none_or(|it| it == entry.kind)
            && self.job.is_none_or(|it| entry.job == Some(it))
            && self.range.contains(entry.created_at)
    }

    /// Reads a part of the ledger, newest first. Skips entries after the time range, and ends the list before its start or before the
    /// job was accepted. A job has no last entry, because a refund may come at any time.
    pub fn read(
        &self,
        store: &Store,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<LedgerEntry>, StoreError> {
        let below = self.range.below(after, IDS_AHEAD.mark(store).wait()?);
        let page = LEDGER.page(store, &account, limit, below).wait()?;
        let accepted = self.job.and_then(|it| moment_of(&it.0));
        let scanned = TimeRange {
            from: self.range.from.max(accepted.map(|at| at.minus(CLOCK_SKEW))),
            ..self.range
        };
        Ok(scanned.end_list(page, |entry| entry.id.0))
    }
}

/// A page of matching entries.
pub async fn page(
    core: &Core,
    account: AccountId,
    window: Window,
    filter: LedgerFilter,
) -> Result<Page<LedgerEntry>, Error> {
    let store = core.store.clone();
    filter_page(
        window,
        move |limit, after| filter.read(&store, account, limit, after),
        |entry| entry.id.0.into_bytes(),
        move |entry| filter.matches(entry),
    )
    .await
}
