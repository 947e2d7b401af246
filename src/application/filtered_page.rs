//! Lists with a filter, read until a page is full.

use super::error::{self, Error};
use super::list::Window;
use tintype_storage::store::{Page, StoreError};
use tokio::task::spawn_blocking;

/// Records looked at for one page when a filter lets few through; the cursor then goes on from there.
const MAX_LOOKED_AT: usize = 10_000;
/// Records read at a time while looking, once the first ones were not enough.
const STEP: usize = 500;

/// A page of what a filter lets through, read on the blocking pool: it may look at many. `read` gives the list in parts, `id`
/// is what its cursor goes by.
pub async fn sifted<R: Send + 'static>(
    window: Window,
    read: impl FnMut(usize, Option<[u8; 16]>) -> Result<Page<R>, StoreError> + Send + 'static,
    id: impl Fn(&R) -> [u8; 16] + Send + 'static,
    lets: impl Fn(&R) -> bool + Send + 'static,
) -> Result<Page<R>, Error> {
    let page = spawn_blocking(move || sift(&window, read, id, lets)).await;
    Ok(page.map_err(|_| error::busy())??)
}

fn sift<R>(
    window: &Window,
    mut read: impl FnMut(usize, Option<[u8; 16]>) -> Result<Page<R>, StoreError>,
    id: impl Fn(&R) -> [u8; 16],
    lets: impl Fn(&R) -> bool,
) -> Result<Page<R>, StoreError> {
    let (mut items, mut after, mut looked_at) = (Vec::new(), window.after, 0);
    // One more than the page holds says whether there is another, and is all that an open filter takes.
    let mut step = window.limit + 1;
    loop {
        let page = read(step, after)?;
        step = STEP;
        looked_at += page.items.len();
        let last = page.next;
        for record in page.items {
            if items.len() == window.limit {
                let next = items.last().map(&id);
                return Ok(Page { items, next });
            }
            if lets(&record) {
                items.push(record);
            }
        }
        if last.is_none() || looked_at >= MAX_LOOKED_AT {
            return Ok(Page { items, next: last });
        }
        after = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A list of the numbers below 2,000, largest first; notes how many were read at a time.
    fn part(steps: &RefCell<Vec<usize>>, limit: usize, after: Option<[u8; 16]>) -> Page<u128> {
        steps.borrow_mut().push(limit);
        let below = after.map_or(2_000, u128::from_be_bytes);
        let items: Vec<u128> = (0..below).rev().take(limit).collect();
        let more = items.last().is_some_and(|last| *last > 0);
        let next = items.last().filter(|_| more).map(|it| it.to_be_bytes());
        Page { items, next }
    }

    fn sifted_by(lets: impl Fn(&u128) -> bool) -> (Vec<u128>, Vec<usize>) {
        let (steps, mut found) = (RefCell::default(), Vec::new());
        let mut window = Window {
            limit: 3,
            after: None,
        };
        loop {
            let read = |limit, after| Ok(part(&steps, limit, after));
            let page = sift(&window, read, |it| it.to_be_bytes(), &lets).unwrap();
            found.extend(page.items);
            match page.next {
                Some(next) if found.len() < 6 => window.after = Some(next),
                _ => return (found, steps.into_inner()),
            }
        }
    }

    #[test]
    fn an_open_filter_reads_no_more_than_the_page() {
        let (found, steps) = sifted_by(|_| true);
        assert_eq!(found, [1_999, 1_998, 1_997, 1_996, 1_995, 1_994]);
        assert_eq!(steps, [4, 4]);
    }

    #[test]
    fn a_narrow_filter_reads_on_and_leaves_nothing_out() {
        let (found, steps) = sifted_by(|it| it.is_multiple_of(500));
        assert_eq!(found, [1_500, 1_000, 500, 0]);
        assert!(steps.contains(&STEP), "{steps:?}");
    }
}
