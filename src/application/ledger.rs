//! An account's ledger, read in parts, with filters.

use super::error::Error;
use super::filtered_page::sifted;
use super::list::{TimeRange, Window};
use super::state::AppState;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, Store, StoreError};

/// Which entries a list is to hold. `None` for no matter.
#[derive(Clone, Copy, Default)]
pub struct LedgerFilter {
    pub kind: Option<EntryKind>,
    pub range: TimeRange,
}

impl LedgerFilter {
    /// Is this one of them?
    pub fn takes(&self, entry: &LedgerEntry) -> bool {
        self.kind.is_none_or(|it| it == entry.kind) && self.range.contains(entry.created_at)
    }

    /// A part of the ledger, newest first, in which entries that are later than the range are not read, and after which there is
    /// nothing where they are all earlier.
    pub fn read(
        &self,
        store: &Store,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<LedgerEntry>, StoreError> {
        let page = store
            .ledger(account, limit, self.range.below(after))
            .wait()?;
        Ok(self.range.ended(page, |entry| entry.id.0))
    }
}

/// A page of what a filter lets through.
///
/// # Errors
/// The store fails.
pub async fn page(
    state: &AppState,
    account: AccountId,
    window: Window,
    filter: LedgerFilter,
) -> Result<Page<LedgerEntry>, Error> {
    let store = state.store.clone();
    sifted(
        window,
        move |limit, after| filter.read(&store, account, limit, after),
        |entry| entry.id.0.into_bytes(),
        move |entry| filter.takes(entry),
    )
    .await
}
