//! The requested part of a list.

use std::time::Duration;
use tintype_storage::domain::ids::{first_id_of, moment_of};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Page;
use uuid::Uuid;

#[derive(Clone, Copy)]
pub struct Window {
    pub limit: usize,
    /// The last id of the previous page.
    pub after: Option<[u8; 16]>,
}

/// Ids sort by the creation time of their records, unless the clock was set back. Lists tolerate a clock set back by this much.
pub const CLOCK_SKEW: Duration = Duration::from_secs(3_600);

/// Creation times, both ends inclusive.
#[derive(Clone, Copy, Default)]
pub struct TimeRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl TimeRange {
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }

    /// The exclusive upper bound of ids for a list that is read newest first and continues after `after`. Skips records after the range.
    pub fn below(&self, after: Option<[u8; 16]>) -> Option<[u8; 16]> {
        let end = self
            .to
            .map(|to| first_id_of(to.plus(CLOCK_SKEW)).into_bytes());
        match (after, end) {
            (Some(after), Some(end)) => Some(after.min(end)),
            (after, end) => after.or(end),
        }
    }

    /// Makes the page the last one if it reaches past the start of the range. A record is never later than its id.
    pub fn end_list<R>(&self, mut page: Page<R>, id: impl Fn(&R) -> Uuid) -> Page<R> {
        let last = page.items.last().and_then(|it| moment_of(&id(it)));
        if last.is_some_and(|at| self.from.is_some_and(|from| at < from)) {
            page.next = None;
        }
        page
    }
}
