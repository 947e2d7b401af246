//! Checks whether the service accepts new jobs at all.

use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use crate::application::settings::Settings;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;

/// Refuses while the service or one of the models is paused.
///
/// # Errors
/// `Paused`
pub fn check_pause(pause: &Pause, models: &[Tier]) -> Result<(), Error> {
    models.iter().try_for_each(|tier| pause.admit(*tier))?;
    Ok(())
}

/// Refuses while the queue has no room for this many jobs.
///
/// # Errors
/// `Overloaded`
pub fn check_queue(core: &Core, settings: &Settings, jobs: usize) -> Result<(), Error> {
    if !has_room(core, settings, jobs) {
        let detail =
            "the queue of the service is full; try again later with the same Idempotency-Key";
        return Err(Error::new(ErrorKind::Overloaded, detail).retry_after(5));
    }
    Ok(())
}

/// Has the queue of the service room for this many jobs?
pub fn has_room(core: &Core, settings: &Settings, jobs: usize) -> bool {
    (core.system.live_jobs() + jobs) as u64 <= settings.config.jobs.max_live
}
