//! Checks daily usage against the jobs that it counts.

use super::Report;
use crate::engine::Wait as _;
use crate::store::tables::{DAILY_USAGE, JOBS_FORGOTTEN};
use crate::store::{Store, StoreError};

pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let mut counted = store.count_ended_jobs().wait()?;
    let first_kept = JOBS_FORGOTTEN.mark(store).wait()?.day();
    DAILY_USAGE.visit(store, |key, recorded| {
        let by_jobs = counted.remove(&key).unwrap_or_default();
        let [is, expected] = [&recorded, &by_jobs].map(|it| it.totals());
        let may_lack_jobs = key.day < first_kept
            && expected.done <= is.done
            && expected.failed <= is.failed
            && expected.spent <= is.spent;
        if may_lack_jobs {
            return Ok(());
        }
        if is != expected {
            report.fault(format!(
                "the usage of key {} on day {} says {} done, {} failed, {} spent; by its jobs it is {}, {} and {}",
                key.key,
                key.day,
                is.done,
                is.failed,
                is.spent,
                expected.done,
                expected.failed,
                expected.spent
            ));
        } else if recorded != by_jobs {
            report.fault(format!(
                "the usage of key {} on day {} counts other models or sizes than its jobs have",
                key.key, key.day
            ));
        }
        Ok(())
    })?;
    for key in counted.keys() {
        report.fault(format!(
            "key {} has jobs that ended on day {} and no usage record",
            key.key, key.day
        ));
    }
    Ok(())
}
