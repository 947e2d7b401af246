//! Which part of a list is asked for.

use std::time::Duration;
use tintype_storage::domain::ids::{first_id_of, moment_of};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Page;
use uuid::Uuid;

/// A page of a list.
#[derive(Clone, Copy)]
pub struct Window {
    /// Entries at the most.
    pub limit: usize,
    /// The last id of the page before.
    pub after: Option<[u8; 16]>,
}

/// Ids sort by the moment of their record, unless the clock was set back meanwhile. It may have been by this much.
pub const SET_BACK: Duration = Duration::from_secs(3_600);

/// The moments that the records of a list are from, both ends included.
#[derive(Clone, Copy, Default)]
pub struct TimeRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl TimeRange {
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }

    /// The id below which a list is read, newest first, that goes on after `after`: later records are not read at all.
    pub fn below(&self, after: Option<[u8; 16]>) -> Option<[u8; 16]> {
        let end = self
            .to
            .map(|to| first_id_of(to.plus(SET_BACK)).into_bytes());
        match (after, end) {
            (Some(after), Some(end)) => Some(after.min(end)),
            (after, end) => after.or(end),
        }
    }

    /// The page, as the last one if it ends before the range. No record is later than its id.
    pub fn ended<R>(&self, mut page: Page<R>, id: impl Fn(&R) -> Uuid) -> Page<R> {
        let last = page.items.last().and_then(|it| moment_of(&id(it)));
        if last.is_some_and(|at| self.from.is_some_and(|from| at < from)) {
            page.next = None;
        }
        page
    }
}
