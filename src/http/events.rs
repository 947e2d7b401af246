//! `GET /jobs/{job_id}/events`: the states of a job as server-sent events, until it is terminal.
//!
//! Each event tells the job as it is at that moment, so of states that pass quickly one may be left out; the terminal one
//! never is. The id of an event is the number of its state, so one who comes back with `Last-Event-ID` misses nothing and hears
//! nothing twice. The place in the queue as it changes, and how far the picture is where the back end tells, are told as well, in
//! events without an id, for they are hints of the moment. Nobody asks the store whether something has changed: a caller who
//! listens is woken, and looks once a second at two tables in memory until the job is over.

use super::jobs;
use crate::application::queue_estimate::waiting;
use crate::application::state::AppState;
use crate::web::auth::Principal;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use std::time::Duration;
use tintype_actors::job_changes::JobWatch;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Silence after which something is said, so that no proxy takes the connection for a dead one. The job is looked at as well:
/// a hint that was lost costs this much.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often a listener looks at which place a job is, or how far.
const TICK: Duration = Duration::from_secs(1);
/// The same where another node may change the job.
const TICK_OF_NODES: Duration = Duration::from_millis(250);
/// Tells the caller how many milliseconds to leave before it comes back.
const OPENING: &str = "retry: 2000\n\n";

/// The number of a state: they come in this order.
fn number(job: &Job) -> u8 {
    match job.state {
        JobState::Queued => 1,
        JobState::Processing { .. } => PROCESSING,
        JobState::Done { .. } | JobState::Failed { .. } => TERMINAL,
    }
}

const PROCESSING: u8 = 2;
const TERMINAL: u8 = 3;

/// Answers with the present state at once, and then with each new one.
pub async fn follow(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let job = jobs::find(&principal, &path, &state).await?;
    principal.admit()?;
    // One that the job has not come to is the id of another stream: states do not go back.
    let told = last_told(&request).filter(|it| *it <= number(&job));
    let told = told.unwrap_or_default();
    if told == TERMINAL {
        // What makes a browser's EventSource stop coming back (HTML, section 9.2.3).
        let mut answer = HttpResponse::NoContent();
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        return Ok(answer.finish());
    }
    let listener = Listener {
        watch: state.system.watch(job.id),
        stopping: state.stopping.subscribe(),
        state,
        account: job.account,
        job: job.id,
        told,
        place: None,
        percent: None,
        opening: Some(OPENING),
    };
    let events = stream::unfold(Some(listener), |listener| async move {
        let (text, listener) = listener?.next().await?;
        Some((Ok::<_, Problem>(Bytes::from(text)), listener))
    });
    let mut answer = HttpResponse::Ok();
    answer.content_type("text/event-stream");
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    // Keeps nginx from collecting events before it passes them on.
    answer.insert_header(("X-Accel-Buffering", "no"));
    if request.method() == actix_web::http::Method::HEAD {
        return Ok(answer.finish());
    }
    Ok(answer.streaming(events))
}

/// The number of the last event that the caller has heard, where that is one.
fn last_told(request: &HttpRequest) -> Option<u8> {
    let value = request.headers().get(LAST_EVENT_ID)?;
    value.to_str().ok()?.parse().ok()
}

struct Listener {
    state: web::Data<AppState>,
    account: AccountId,
    job: JobId,
    watch: JobWatch,
    stopping: watch::Receiver<bool>,
    told: u8,
    /// The place of the job in the queue when that was last told.
    place: Option<usize>,
    /// How far the job was when that was last told.
    percent: Option<u8>,
    opening: Option<&'static str>,
}

impl Listener {
    /// The next text, and the listener if there is more to come. `None` ends the stream: the service stops, or cannot read the
    /// job; the caller comes back by itself.
    async fn next(mut self) -> Option<(String, Option<Self>)> {
        let mut text = self.opening.take().unwrap_or_default().to_owned();
        loop {
            // The watch began before this look, so what changes after it is noticed.
            let job = self.state.store.job(self.account, self.job).await.ok()??;
            let number = number(&job);
            if number > self.told {
                // Before the event looks for itself: told twice is better than not at all.
                self.place = self.state.system.waiting_jobs().position(&job);
                text.push_str(&event(&self.state, &job).await?);
                self.told = number;
                return Some((text, (number < TERMINAL).then_some(self)));
            }
            if !text.is_empty() {
                text.push_str(&self.queued(&job).unwrap_or_default());
                return Some((text, Some(self)));
            }
            text = self.heard(&job).await?;
        }
    }

    /// What there is to tell before the job, which was so when it was looked at, is to be looked at again; if anything.
    async fn heard(&mut self, job: &Job) -> Option<String> {
        let silent_until = Instant::now() + KEEP_ALIVE;
        let is_shared = self.state.system.node().is_some();
        let tick = if is_shared { TICK_OF_NODES } else { TICK };
        loop {
            let is_hinted = tokio::select! {
                _ = self.state.fail_stop.tripped() => return None,
                _ = self.stopping.wait_for(|it| *it) => return None,
                changed = timeout(tick, self.watch.changed()) => changed.is_ok(),
            };
            if is_hinted || is_shared && self.has_changed(job).await? {
                return Some(String::new());
            }
            if let Some(text) = self.queued(job).or_else(|| self.progress()) {
                return Some(text);
            }
            if Instant::now() >= silent_until {
                return Some(": still here\n\n".to_owned());
            }
        }
    }

    /// Is the job in another state than it was? No hint comes for what another node has changed.
    async fn has_changed(&self, job: &Job) -> Option<bool> {
        let now = self.state.store.job(self.account, self.job).await.ok()??;
        Some(number(&now) != number(job))
    }

    /// The place of a job that waits, where it is not what was told before.
    fn queued(&mut self, job: &Job) -> Option<String> {
        let waiting = waiting(&self.state, job)?;
        let place = waiting.position;
        if self.place.replace(place) == Some(place) {
            return None;
        }
        let data = serde_json::json!({
            "job_id": self.job.to_string(),
            "queue_position": place,
            "estimated_start_at": waiting.starts_at.map(|it| it.to_string()),
        });
        Some(format!("event: queue\ndata: {data}\n\n"))
    }

    /// How far the job is, where its back end tells and it is not what was told before.
    fn progress(&mut self) -> Option<String> {
        let fraction = self.state.system.progress(self.job)?;
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

async fn event(state: &AppState, job: &Job) -> Option<String> {
    let view = jobs::view(state, job).await.ok()?;
    // One line: JSON escapes the ends of lines.
    let data = serde_json::to_string(&view).ok()?;
    let id = number(job);
    Some(format!("id: {id}\nevent: status\ndata: {data}\n\n"))
}
