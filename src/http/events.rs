//! `GET /jobs/{job_id}/events`: the states of a job as server-sent events, until it is terminal.
//!
//! Each event contains the current job, so a short state may be skipped, but never the terminal one. The id of an event is the number of
//! its state, so a client that reconnects with `Last-Event-ID` misses nothing and gets nothing twice. Changes of the queue position, and
//! the progress if the backend reports it, are sent as events without an id. A listener does not poll the store, unless other nodes share
//! it: state changes wake it, and once a second it checks two tables in memory.

use super::jobs;
use crate::api::job_views::JobViews;
use crate::application::caller::payer::Payer;
use crate::application::services::{AccountService, JobService};
use crate::application::submission::queue_estimate::QueueEstimates;
use crate::web::auth::{Principal, api_key_auth};
use crate::web::no_store;
use crate::web::problem::{HttpResult, Problem};
use crate::web::streaming;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::stream;
use std::time::Duration;
use tintype_actors::job_changes::JobWatch;
use tintype_actors::system::QueuedJob;
use tintype_fair_semaphore::Permit;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Interval of keep-alive comments, so that no proxy closes the connection. Also re-reads the job, which bounds the delay of a lost
/// wake-up.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often a listener checks the queue position and the progress.
const TICK: Duration = Duration::from_secs(1);
/// The same if another node may change the job.
const SHARED_TICK: Duration = Duration::from_millis(250);
/// Delay before a reconnect, in milliseconds.
const OPENING: &str = "retry: 2000\n\n";

/// States occur in this order.
fn state_number(job: &Job) -> u8 {
    match job.state {
        JobState::Queued => 1,
        JobState::Processing { .. } => PROCESSING,
        JobState::Done { .. } | JobState::Failed { .. } => TERMINAL,
    }
}

const PROCESSING: u8 = 2;
const TERMINAL: u8 = 3;

/// Sends the current state at once, then each new one.
pub async fn follow(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let core = &jobs.core;
    let job = jobs::find(&principal, &path, core).await?;
    principal.admit()?;
    // A number above the job's state is the id of another stream: states never go back.
    let last_sent = last_event_id(&request).filter(|it| *it <= state_number(&job));
    let last_sent = last_sent.unwrap_or_default();
    if last_sent == TERMINAL {
        // Makes a browser's EventSource stop reconnecting (HTML, section 9.2.3).
        return Ok(no_store::no_content());
    }
    let listener = Listener {
        _waiting: accounts.limits.admit_waiting(job.account)?,
        watch: core.system.watch(job.id),
        stopping: core.stopping.subscribe(),
        accounts,
        caller: principal.caller,
        jobs,
        account: job.account,
        job: job.id,
        last_sent,
        position: None,
        percent: None,
        opening: Some(OPENING),
    };
    let events = stream::unfold(Some(listener), |listener| async move {
        let (text, listener) = listener?.next().await?;
        Some((Ok::<_, Problem>(Bytes::from(text)), listener))
    });
    let mut response = no_store::ok();
    response.content_type("text/event-stream");
    response.insert_header(streaming::UNBUFFERED);
    Ok(streaming::respond(&request, &mut response, events))
}

fn last_event_id(request: &HttpRequest) -> Option<u8> {
    let value = request.headers().get(LAST_EVENT_ID)?;
    value.to_str().ok()?.parse().ok()
}

struct Listener {
    _waiting: Permit<AccountId>,
    accounts: web::Data<AccountService>,
    caller: Payer,
    jobs: web::Data<JobService>,
    account: AccountId,
    job: JobId,
    watch: JobWatch,
    stopping: watch::Receiver<bool>,
    last_sent: u8,
    /// The last sent queue position.
    position: Option<usize>,
    /// The last sent progress.
    percent: Option<u8>,
    opening: Option<&'static str>,
}

impl Listener {
    /// Returns the next text, and the listener unless the job is terminal. `None` ends the stream because the service stops, cannot read
    /// the job, or no longer accepts the key; the client then reconnects.
    async fn next(mut self) -> Option<(String, Option<Self>)> {
        let mut text = self.opening.take().unwrap_or_default().to_owned();
        loop {
            // The watch began before this read, so no later change is missed.
            let job = self.read_job().await?;
            // Before each text, so at least once per keep-alive.
            let checked = api_key_auth::recheck(&self.accounts, &self.caller).await;
            checked.ok()?;
            let number = state_number(&job);
            if number > self.last_sent {
                // Read before the event reads it: sending a position twice is better than never.
                let queue = self.jobs.core.system.queue();
                self.position = QueuedJob::if_queued(&job).map(|it| queue.position(it));
                text.push_str(&event(&self.jobs, &job).await?);
                self.last_sent = number;
                return Some((text, (number < TERMINAL).then_some(self)));
            }
            if !text.is_empty() {
                text.push_str(&self.position_event(&job).unwrap_or_default());
                return Some((text, Some(self)));
            }
            text = self.next_update(&job).await?;
        }
    }

    /// Waits for the next text; empty when the job must be read again.
    async fn next_update(&mut self, job: &Job) -> Option<String> {
        let silent_until = Instant::now() + KEEP_ALIVE;
        let is_cluster = self.jobs.core.system.node().is_some();
        let tick = if is_cluster { SHARED_TICK } else { TICK };
        loop {
            let is_woken = tokio::select! {
                _ = self.jobs.core.fail_stop.tripped() => return None,
                _ = self.stopping.wait_for(|it| *it) => return None,
                changed = timeout(tick, self.watch.changed()) => changed.is_ok(),
            };
            if is_woken || is_cluster && self.has_changed(job).await? {
                return Some(String::new());
            }
            if let Some(text) = self.position_event(job).or_else(|| self.progress_event()) {
                return Some(text);
            }
            if Instant::now() >= silent_until {
                return Some(": still here\n\n".to_owned());
            }
        }
    }

    async fn read_job(&self) -> Option<Job> {
        let store = &self.jobs.core.store;
        store.job(self.account, self.job).await.ok()?
    }

    /// Compares the state with the store: changes by other nodes cause no wake-up.
    async fn has_changed(&self, job: &Job) -> Option<bool> {
        let now = self.read_job().await?;
        Some(state_number(&now) != state_number(job))
    }

    /// The event of a changed queue position.
    fn position_event(&mut self, job: &Job) -> Option<String> {
        let waiting = QueueEstimates::now(&self.jobs.core).waiting(job)?;
        let position = waiting.position;
        if self.position.replace(position) == Some(position) {
            return None;
        }
        let data = serde_json::json!({
            "job_id": self.job.to_string(),
            "queue_position": position,
            "estimated_start_at": waiting.starts_at.map(|it| it.to_string()),
        });
        Some(format!("event: queue\ndata: {data}\n\n"))
    }

    /// The event of a changed progress.
    fn progress_event(&mut self) -> Option<String> {
        let fraction = self.jobs.core.system.progress(self.job)?;
        let percent = (fraction * 100.0).round() as u8;
        if self.percent.replace(percent) == Some(percent) {
            return None;
        }
        let data = serde_json::json!({
            "job_id": self.job.to_string(),
            "progress": f64::from(percent) / 100.0,
        });
        Some(format!("event: progress\ndata: {data}\n\n"))
    }
}

async fn event(jobs: &JobService, job: &Job) -> Option<String> {
    let view = JobViews::of(jobs).lookup(job).await.ok()?;
    // A single line: JSON escapes line breaks.
    let data = serde_json::to_string(&view).ok()?;
    let id = state_number(job);
    Some(format!("id: {id}\nevent: status\ndata: {data}\n\n"))
}
