//! `GET /jobs/{job_id}/events`: the states of a job as server-sent events, until it is terminal.
//!
//! Each event tells the job as it is at that moment, so of states that pass quickly one may be left out; the terminal one
//! never is. The id of an event is the number of its state, so one who comes back with `Last-Event-ID` misses nothing and hears
//! nothing twice. Where the back end tells how far it is, that is told as well, in events without an id, for it is a hint that
//! is lost at a restart. Nobody asks whether something has changed: a caller who listens costs a connection and a place among the
//! watchers.

use super::auth::Principal;
use super::jobs;
use super::problem::Problem;
use super::state::AppState;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use std::time::Duration;
use tintype_actors::watchers::Watch;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Silence after which something is said, so that no proxy takes the connection for a dead one. The job is looked at as well:
/// a hint that was lost costs this much.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often a listener looks how far a job is that is being processed.
const TICK: Duration = Duration::from_secs(1);
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
    let job = jobs::find(&principal, &path, &state)?;
    principal.admit()?;
    let told = last_told(&request);
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

/// The number of the last event that the caller has heard; 0 for none, or for an id that is not of this stream.
fn last_told(request: &HttpRequest) -> u8 {
    let value = request.headers().get(LAST_EVENT_ID);
    let number = value.and_then(|it| it.to_str().ok()?.parse().ok());
    number.filter(|it| *it <= TERMINAL).unwrap_or(0)
}

struct Listener {
    state: web::Data<AppState>,
    account: AccountId,
    job: JobId,
    watch: Watch,
    stopping: watch::Receiver<bool>,
    told: u8,
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
            let job = self.state.store.job(self.account, self.job).ok()??;
            let number = number(&job);
            if number > self.told {
                text.push_str(&event(&self.state, &job).await?);
                self.told = number;
                return Some((text, (number < TERMINAL).then_some(self)));
            }
            if !text.is_empty() {
                return Some((text, Some(self)));
            }
            text = self.heard().await?;
        }
    }

    /// What there is to tell before the job is to be looked at again, if anything.
    async fn heard(&mut self) -> Option<String> {
        let silent_until = Instant::now() + KEEP_ALIVE;
        loop {
            let tick = if self.told == PROCESSING {
                TICK
            } else {
                KEEP_ALIVE
            };
            tokio::select! {
                _ = self.state.fail_stop.tripped() => return None,
                _ = self.stopping.wait_for(|it| *it) => return None,
                changed = timeout(tick, self.watch.changed()) => {
                    if changed.is_ok() {
                        return Some(String::new());
                    }
                }
            }
            if let Some(text) = self.progress() {
                return Some(text);
            }
            if Instant::now() >= silent_until {
                return Some(": still here\n\n".to_owned());
            }
        }
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
