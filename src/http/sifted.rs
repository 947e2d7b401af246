//! Lists with a filter, read until a page is full.

use super::paging::Window;
use super::problem::Problem;
use tintype_storage::store::{Page, StoreError};

/// Records looked at for one page when a filter lets few through; the cursor then goes on from there.
const MAX_LOOKED_AT: usize = 10_000;
/// Records read at a time while looking.
const STEP: usize = 500;

/// A page of what a filter lets through. `read` gives the list in parts, `id` is what its cursor goes by.
pub fn sifted<R>(
    window: &Window,
    mut read: impl FnMut(usize, Option<[u8; 16]>) -> Result<Page<R>, StoreError>,
    id: impl Fn(&R) -> [u8; 16],
    lets: impl Fn(&R) -> bool,
) -> Result<Page<R>, Problem> {
    let (mut items, mut after, mut looked_at) = (Vec::new(), window.after, 0);
    loop {
        let page = read(STEP, after)?;
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
