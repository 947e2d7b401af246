//! Tallies against the jobs that they count.

use super::Report;
use crate::engine::Wait as _;
use crate::store::tables::DAILY_USAGE;
use crate::store::{All, Store, StoreError};

/// Verifies all daily usage.
pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let mut counted = store.count_ended_jobs().wait()?;
    DAILY_USAGE.each(store, &All, |place, recorded| {
        let by_jobs = counted.remove(&place).unwrap_or_default();
        if recorded != by_jobs {
            report.fault(format!(
                "the tally of key {} on day {} says {} done, {} failed, {} spent; by its jobs it is {}, {} and {}",
                place.key,
                place.day,
                recorded.done,
                recorded.failed,
                recorded.spent,
                by_jobs.done,
                by_jobs.failed,
                by_jobs.spent
            ));
        }
        Ok(())
    }).wait()?;
    for place in counted.keys() {
        report.fault(format!(
            "key {} has jobs that ended on day {} and no tally of them",
            place.key, place.day
        ));
    }
    Ok(())
}
