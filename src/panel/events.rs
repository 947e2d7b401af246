//! Live pages: a stream of server-sent events that say that something has changed, so that the page reloads its data.
//!
//! An event carries no data, so pages cannot get out of sync: a lost event costs a second. The stream reads a few small records
//! each second, about as many as one page load, and ends with its session.

use super::guard::{SignedIn, User};
use crate::application::core::Core;
use crate::application::people::sessions;
use crate::application::services::AccountService;
use crate::web::auth::access::{OfAccount, OperatorCall};
use crate::web::problem::HttpResult;
use crate::web::streaming;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_fair_semaphore::Permit;
use tintype_storage::domain::ids::{AccountId, AuditId};
use tintype_storage::domain::person::{Digest32, PersonId};
use tintype_storage::store::tables::{AUDIT_LOG, DELETED_IMAGES};
use tintype_storage::store::{All, JobRange, JobWindow, StoreError};
use tokio::time::{MissedTickBehavior, interval};

const CHANGED: &[u8] = b"event: changed\ndata: {}\n\n";
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Polls between two comments, which keep proxies from closing a silent stream.
const COMMENT_EVERY: u32 = 15;
/// Polls without a change after which the event is repeated: the page may have loaded cached figures from before the change, and
/// expensive figures are cached for a while.
const SETTLED_AFTER: [u32; 4] = [3, 9, 27, 81];
/// Only this many of the newest jobs, favourites, deliveries and audit entries are watched.
const WATCHED: usize = 30;

pub async fn of_account(
    of: OfAccount,
    visitor: SignedIn,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    respond(accounts, &visitor, Some(of.account.id))
}

/// Changes of the whole service.
pub async fn of_service(
    _: OperatorCall,
    visitor: SignedIn,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    respond(accounts, &visitor, None)
}

struct ChangeWatcher {
    accounts: web::Data<AccountService>,
    session: Digest32,
    _permit: Permit<Option<PersonId>>,
    account: Option<AccountId>,
    interval: tokio::time::Interval,
    /// The newest audit entry about the account that was seen. It stays when newer entries of other accounts push it out of those
    /// that are watched, so that changes in other accounts cause no event.
    audited: Option<AuditId>,
    /// The hash of the visible state at the last poll.
    seen: Option<u64>,
    /// Polls since the last change.
    quiet: u32,
}

fn respond(
    accounts: web::Data<AccountService>,
    visitor: &SignedIn,
    account: Option<AccountId>,
) -> HttpResult {
    let person = match &visitor.user {
        User::Operator => None,
        User::Person(person) => Some(person.id),
    };
    let permit = accounts.limits.admit_event_stream(person)?;
    let mut interval = interval(POLL_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watch = ChangeWatcher {
        accounts,
        session: visitor.id,
        _permit: permit,
        account,
        interval,
        audited: None,
        seen: None,
        quiet: 0,
    };
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(event)), watch))
    });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(streaming::UNBUFFERED)
        .streaming(events))
}

impl ChangeWatcher {
    /// The next event or comment; `None` when the stream ends.
    async fn next(&mut self) -> Option<&'static [u8]> {
        let mut stopping = self.accounts.core.stopping.subscribe();
        loop {
            tokio::select! {
                _ = self.interval.tick() => {}
                _ = stopping.wait_for(|stops| *stops) => return None,
            }
            let session = sessions::resolve(&self.accounts, self.session).await;
            let visitor = session.ok().flatten()?;
            if self.accounts.core.fail_stop.has_tripped() {
                return None;
            }
            let depths = self.accounts.core.system.queue().depths();
            let mut hasher = DefaultHasher::new();
            (depths.queued, depths.running).hash(&mut hasher);
            if let User::Person(person) = &visitor.user {
                person.role.as_str().hash(&mut hasher);
            }
            let core = &self.accounts.core;
            hash_visible_state(core, self.account, &mut self.audited, &mut hasher)
                .await
                .ok()?;
            let now = hasher.finish();
            let before = self.seen.replace(now);
            if before.is_none() {
                return Some(b"retry: 2000\nevent: ready\ndata: {}\n\n");
            }
            if before != Some(now) {
                self.quiet = 0;
                return Some(CHANGED);
            }
            self.quiet += 1;
            if SETTLED_AFTER.contains(&self.quiet) {
                return Some(CHANGED);
            }
            if self.quiet.is_multiple_of(COMMENT_EVERY) {
                return Some(b": still here\n\n");
            }
        }
    }
}

async fn hash_visible_state(
    core: &Core,
    account: Option<AccountId>,
    audited: &mut Option<AuditId>,
    hasher: &mut DefaultHasher,
) -> Result<(), StoreError> {
    {
        let pause = core.pause.read();
        format!("{pause:?}").hash(hasher);
    }
    let deliveries = match account {
        Some(account) => {
            if let Some(it) = core.store.account(account).await? {
                (it.active, it.name).hash(hasher);
                format!("{:?}", it.balances).hash(hasher);
            }
            hash_jobs(core, account, hasher).await?;
            // Keys, webhooks, people and limits change with an audit entry.
            let entries = AUDIT_LOG
                .page(&core.store, &All, WATCHED, None)
                .await?
                .items;
            let newest = entries.iter().find(|it| it.account == Some(account));
            *audited = newest.map(|it| it.id).or(*audited);
            audited.hash(hasher);
            core.store.deliveries_of(account, WATCHED, None).await?
        }
        None => {
            hash_service_state(core, hasher).await?;
            core.store.deliveries(WATCHED, None).await?
        }
    };
    for delivery in deliveries.items {
        (delivery.id, delivery.attempts, delivery.state.as_str()).hash(hasher);
    }
    Ok(())
}

/// Hashes the newest jobs, whose images API keys delete without an audit entry, and the newest favourites, which have none.
async fn hash_jobs(
    core: &Core,
    account: AccountId,
    hasher: &mut DefaultHasher,
) -> Result<(), StoreError> {
    let window = JobWindow::first(WATCHED, WATCHED);
    let jobs = core
        .store
        .filtered_jobs_of(account, window, |_| true)
        .await?
        .items;
    for job in &jobs {
        let percent = core.system.progress(job.id).map(|it| (it * 100.0) as u8);
        (job.id, job.state.as_str(), percent).hash(hasher);
    }
    if let (Some(newest), Some(oldest)) = (jobs.first(), jobs.last()) {
        let deleted = DELETED_IMAGES.jobs_in(&core.store, account, oldest.id, newest.id);
        deleted.await?.hash(hasher);
    }
    let favourites = core.store.favourites_of(account, JobRange::ALL, WATCHED);
    favourites.await?.hash(hasher);
    Ok(())
}

/// Hashes what only the operator's pages show: backends, job counts and the newest audit entry. Each change of money comes with
/// a change of one of these.
async fn hash_service_state(core: &Core, hasher: &mut DefaultHasher) -> Result<(), StoreError> {
    for backend in core.system.backends() {
        (backend.name, backend.running, backend.faults).hash(hasher);
        format!("{:?}", (backend.health, backend.pause)).hash(hasher);
    }
    let jobs = &core.system.stats().jobs;
    for count in jobs.accepted.iter().flatten() {
        count.load(Ordering::Relaxed).hash(hasher);
    }
    for count in jobs.ended.iter().flatten() {
        count.load(Ordering::Relaxed).hash(hasher);
    }
    let newest = AUDIT_LOG.page(&core.store, &All, 1, None).await?.items;
    newest.first().map(|it| it.id).hash(hasher);
    Ok(())
}
