//! The requested part of a list, and how a list is read through a filter until a page is full.

use crate::application::blocking::blocking;
use crate::application::error::Error;
use std::time::Duration;
use tintype_storage::domain::ids::{first_id_of, moment_of};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{Page, StoreError};
use uuid::Uuid;

#[derive(Clone, Copy)]
pub struct Window {
    pub limit: usize,
    /// The last id of the previous page.
    pub after: Option<[u8; 16]>,
}

/// Ids sort by the creation time of their records, unless the clock was set back. Lists tolerate a clock set back by this much, and the
/// store notes when ids are further ahead.
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
    /// `ahead`: see [`Store::ids_ahead`](tintype_storage::store::Store::ids_ahead).
    pub fn below(&self, after: Option<[u8; 16]>, ahead: Timestamp) -> Option<[u8; 16]> {
        let end = self.to.map(|to| end_of_ids(to, ahead).into_bytes());
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

/// The exclusive upper bound of the ids of records that were created up to a time.
pub fn end_of_ids(to: Timestamp, ahead: Timestamp) -> Uuid {
    first_id_of(to.max(ahead).plus(CLOCK_SKEW))
}

/// Records scanned for one page. If few match, the page ends early and its cursor continues from there.
const MAX_SCANNED: usize = 10_000;
/// Records read at a time after the first read.
const STEP: usize = 500;

/// Returns a page of matching records. Runs on the blocking pool, because it may scan many. `read` returns the list in parts, `id` the
/// cursor of a record.
pub async fn filter_page<R: Send + 'static>(
    window: Window,
    read: impl FnMut(usize, Option<[u8; 16]>) -> Result<Page<R>, StoreError> + Send + 'static,
    id: impl Fn(&R) -> [u8; 16] + Send + 'static,
    matches: impl Fn(&R) -> bool + Send + 'static,
) -> Result<Page<R>, Error> {
    blocking(move || filter_page_blocking(&window, read, id, matches)).await
}

fn filter_page_blocking<R>(
    window: &Window,
    mut read: impl FnMut(usize, Option<[u8; 16]>) -> Result<Page<R>, StoreError>,
    id: impl Fn(&R) -> [u8; 16],
    matches: impl Fn(&R) -> bool,
) -> Result<Page<R>, StoreError> {
    let (mut items, mut after, mut scanned) = (Vec::new(), window.after, 0);
    // One record more than the page shows whether another page follows. A filter that matches all reads no more.
    let mut step = window.limit + 1;
    loop {
        let page = read(step, after)?;
        step = STEP;
        scanned += page.items.len();
        let last = page.next;
        for record in page.items {
            if items.len() == window.limit {
                let next = items.last().map(&id);
                return Ok(Page { items, next });
            }
            if matches(&record) {
                items.push(record);
            }
        }
        if last.is_none() || scanned >= MAX_SCANNED {
            return Ok(Page { items, next: last });
        }
        after = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// The numbers below 2,000, largest first. Records the size of each read.
    fn part(steps: &RefCell<Vec<usize>>, limit: usize, after: Option<[u8; 16]>) -> Page<u128> {
        steps.borrow_mut().push(limit);
        let below = after.map_or(2_000, u128::from_be_bytes);
        let items: Vec<u128> = (0..below).rev().take(limit).collect();
        let more = items.last().is_some_and(|last| *last > 0);
        let next = items.last().filter(|_| more).map(|it| it.to_be_bytes());
        Page { items, next }
    }

    fn filtered_by(matches: impl Fn(&u128) -> bool) -> (Vec<u128>, Vec<usize>) {
        let (steps, mut found) = (RefCell::default(), Vec::new());
        let mut window = Window {
            limit: 3,
            after: None,
        };
        loop {
            let read = |limit, after| Ok(part(&steps, limit, after));
            let page =
                filter_page_blocking(&window, read, |it| it.to_be_bytes(), &matches).unwrap();
            found.extend(page.items);
            match page.next {
                Some(next) if found.len() < 6 => window.after = Some(next),
                _ => return (found, steps.into_inner()),
            }
        }
    }

    #[test]
    fn a_filter_that_matches_all_reads_no_more_than_the_page() {
        let (found, steps) = filtered_by(|_| true);
        assert_eq!(found, [1_999, 1_998, 1_997, 1_996, 1_995, 1_994]);
        assert_eq!(steps, [4, 4]);
    }

    #[test]
    fn a_narrow_filter_continues_reading_and_omits_nothing() {
        let (found, steps) = filtered_by(|it| it.is_multiple_of(500));
        assert_eq!(found, [1_500, 1_000, 500, 0]);
        assert!(steps.contains(&STEP), "{steps:?}");
    }
}
