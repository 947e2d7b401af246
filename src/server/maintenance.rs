//! Periodic maintenance: reports to the log and the operator, writes down key uses, and stops the process if an actor has died.

use crate::application::core::Core;
use crate::application::core::commit::Change;
use crate::application::error::Error;
use crate::application::nodes::maintainer::Maintainer;
use crate::application::operations::disk_space::{self, DiskWatch};
use crate::application::operations::operator_events;
use crate::application::services::{AccountService, JobService};
use crate::application::settings::Settings;
use crate::observability::log_rate_limit;
use actix_web::web::Data;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::store::tables::API_KEY_LAST_USE;
use tokio::time::{MissedTickBehavior, interval};

const TICK: Duration = Duration::from_secs(1);
// The intervals below are in ticks.
const WATCH_DISK_EVERY: u64 = 10;
const NOTE_USES_EVERY: u64 = 60;
/// Key uses per commit.
const USES_PER_COMMIT: usize = 1_000;
/// Commits in a row. The next minute does the rest.
const MAX_USE_COMMITS: usize = 1_000;

pub(crate) async fn run(
    accounts: Data<AccountService>,
    jobs: Data<JobService>,
    maintainer: Data<Maintainer>,
) {
    let core = &jobs.core;
    let mut disk = DiskWatch::default();
    let mut ticker = interval(TICK);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for tick in 0u64.. {
        ticker.tick().await;
        if !core.system.is_alive() {
            core.fail_stop
                .trip("the dispatcher actor or the delivery actor has died");
            return;
        }
        jobs.objects.add_writer_if_stuck();
        log_rate_limit::report();
        maintainer.try_acquire(core).await;
        if core.fail_stop.has_tripped() {
            return;
        }
        report_to_operator(core, &jobs.settings, &maintainer, &mut disk, tick).await;
        if tick % NOTE_USES_EVERY == NOTE_USES_EVERY - 1 {
            record_key_uses(&accounts).await;
        }
    }
}

/// Creates events for the operator's webhook. After a failure the next tick tries again.
async fn report_to_operator(
    core: &Core,
    settings: &Settings,
    maintainer: &Maintainer,
    disk: &mut DiskWatch,
    tick: u64,
) {
    let mut outcome = operator_events::watch_backends(core, settings).await;
    if tick.is_multiple_of(WATCH_DISK_EVERY) {
        outcome = outcome.and(watch_disk(core, settings, maintainer, disk).await);
    }
    if let Err(error) = outcome
        && !core.is_ending()
    {
        tracing::warn!(%error, "could not report an event to the operator");
    }
}

/// Each node logs the state of its disk; one reports it.
async fn watch_disk(
    core: &Core,
    settings: &Settings,
    maintainer: &Maintainer,
    disk: &mut DiskWatch,
) -> Result<(), Error> {
    let Some(found) = disk_space::read(settings).await? else {
        return Ok(());
    };
    disk.observe(settings, &found);
    match maintainer.is_this_node() {
        true => operator_events::watch_disk(core, settings, &found).await,
        false => Ok(()),
    }
}

/// Writes the time of last use of each key that was used since the last write.
pub async fn record_key_uses(accounts: &AccountService) {
    let core = &accounts.core;
    for _ in 0..MAX_USE_COMMITS {
        let mut uses = accounts.auth.api_keys.unwritten_uses(USES_PER_COMMIT);
        if uses.is_empty() {
            return;
        }
        // The lock keeps callers from removing a key meanwhile, which would leave its last use behind forever.
        let guard = match core.locks.operator.lock().await {
            Ok(guard) => guard,
            Err(error) => {
                tracing::warn!(%error, "could not save when API keys were last used");
                return;
            }
        };
        // A request that read a key just before its removal may have noted its use afterwards.
        let found = join_all(uses.iter().map(|(id, _)| core.store.key(*id))).await;
        let mut found = found.into_iter();
        uses.retain(|(id, _)| match found.next() {
            Some(Ok(None)) => {
                accounts.auth.api_keys.remove_use(*id);
                false
            }
            _ => true,
        });
        let mut newer = uses.clone();
        if core.system.node().is_some() {
            // Another node may have seen a later use.
            let written = newer.iter();
            let written = written.map(|(id, _)| API_KEY_LAST_USE.get(&core.store, id));
            let mut written = join_all(written).await.into_iter();
            newer.retain(|(_, at)| !matches!(written.next(), Some(Ok(Some(it))) if it >= *at));
        }
        let writes = newer.iter();
        let writes = writes
            .map(|(id, at)| API_KEY_LAST_USE.put(id, at))
            .collect();
        let api_keys = Arc::clone(&accounts.auth.api_keys);
        let change =
            Change::under_lock(guard, writes).then(move || api_keys.mark_uses_written(&uses));
        if core.commit(change).await.is_err() {
            return;
        }
    }
}
