//! An account's ledger, read in parts, with filters.

use crate::application::state::AppState;
use crate::web::filtered_page::sifted;
use crate::web::paging::{self, Window};
use crate::web::problem::{FieldFault, Problem};
use actix_web::{HttpRequest, web};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, first_id_of, moment_of};
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{Page, StoreError};

const KINDS: [EntryKind; 3] = [EntryKind::Deposit, EntryKind::Charge, EntryKind::Adjustment];
/// Ids sort by the moment of entry, but where the clock was set back meanwhile. It may have been by this much.
const SET_BACK: Duration = Duration::from_secs(3_600);

/// Which entries a list is to hold.
#[derive(Clone, Default)]
pub struct Filter {
    kind: Option<EntryKind>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Filter {
    const NAMES: &'static [&'static str] = &["kind", "from", "to"];

    /// From the query, with the part of the list that is asked for; 422 names every parameter that is wrong.
    pub fn of(request: &HttpRequest) -> Result<(Window, Self), Problem> {
        let mut filter = Self::default();
        let window =
            paging::filtered_window(request, Self::NAMES, |name, value| filter.take(name, value))?;
        Ok((window, filter))
    }

    fn take(&mut self, name: &str, value: &str) -> Option<FieldFault> {
        let wrong = |message: &str| Some(FieldFault::new(name, message));
        match name {
            "kind" => {
                self.kind = KINDS.into_iter().find(|it| it.word() == value);
                if self.kind.is_none() {
                    return wrong("must be deposit, charge or adjustment");
                }
            }
            _ => match Timestamp::parse(value) {
                Some(moment) if name == "from" => self.from = Some(moment),
                Some(moment) => self.to = Some(moment),
                None => return wrong("must be a moment such as 2026-01-31T12:00:00Z"),
            },
        }
        None
    }

    /// Is this one of them?
    pub fn lets(&self, entry: &LedgerEntry) -> bool {
        self.kind.is_none_or(|it| it == entry.kind)
            && self.from.is_none_or(|it| entry.created_at >= it)
            && self.to.is_none_or(|it| entry.created_at <= it)
    }

    /// A part of the ledger, newest first, in which entries that are later than all of them are not even read, and after
    /// which there is nothing where they are all earlier.
    pub fn read(
        &self,
        state: &AppState,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<LedgerEntry>, StoreError> {
        let end = self
            .to
            .map(|to| first_id_of(to.plus(SET_BACK)).into_bytes());
        let below = match (after, end) {
            (Some(after), Some(end)) => Some(after.min(end)),
            (after, end) => after.or(end),
        };
        let mut page = state.store.ledger(account, limit, below)?;
        // No entry is later than its id.
        let last = page.items.last().and_then(|it| moment_of(&it.id.0));
        if last.is_some_and(|at| self.from.is_some_and(|from| at < from)) {
            page.next = None;
        }
        Ok(page)
    }
}

/// A page of what a filter lets through.
pub async fn page(
    request: &HttpRequest,
    state: &web::Data<AppState>,
    account: AccountId,
) -> Result<Page<LedgerEntry>, Problem> {
    let (window, filter) = Filter::of(request)?;
    let (state, range) = (state.clone(), filter.clone());
    sifted(
        window,
        move |limit, after| range.read(&state, account, limit, after),
        |entry| entry.id.0.into_bytes(),
        move |entry| filter.lets(entry),
    )
    .await
}
