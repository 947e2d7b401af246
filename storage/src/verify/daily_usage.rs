//! Checks daily usage against the jobs that it counts.

use super::Report;
use crate::domain::daily_usage::{DailyUsage, ModelUsage};
use crate::engine::Wait as _;
use crate::store::tables::DAILY_USAGE;
use crate::store::{All, Store, StoreError};

/// Is the count by model covered by the jobs? On the day on which the count by model began it is smaller.
fn fits(recorded: &ModelUsage, by_jobs: &DailyUsage) -> bool {
    let place = |it: &ModelUsage| (it.tier, it.resolution);
    let found = by_jobs
        .models
        .iter()
        .find(|it| place(it) == place(recorded));
    found.is_some_and(|it| {
        let (said, counted) = (recorded.totals, it.totals);
        said.done <= counted.done && said.failed <= counted.failed && said.spent <= counted.spent
    })
}

pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let mut counted = store.count_ended_jobs().wait()?;
    DAILY_USAGE.each(store, &All, |place, recorded| {
        let by_jobs = counted.remove(&place).unwrap_or_default();
        if recorded.totals() == by_jobs.totals() {
            if let Some(model) = recorded.models.iter().find(|it| !fits(it, &by_jobs)) {
                report.fault(format!(
                    "the usage of key {} on day {} counts more of model {} at {} than its jobs",
                    place.key, place.day, model.tier, model.resolution
                ));
            }
        } else {
            report.fault(format!(
                "the usage of key {} on day {} says {} done, {} failed, {} spent; by its jobs it is {}, {} and {}",
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
            "key {} has jobs that ended on day {} and no usage record",
            place.key, place.day
        ));
    }
    Ok(())
}
