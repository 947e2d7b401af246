//! One line of the log for each call: what was asked, by whom, about which job, and how it was answered.
//!
//! The lines are a part of the log of their own, `tintype::requests`, so that they can be had or left without the rest. A line
//! that nobody wants costs a look at one number; what is gathered for one that may come to be wanted is two ids. Queries are never in it: they can hold keys
//! and signatures.

use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpMessage as _, HttpRequest};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tracing::Level;

/// The part of the log.
const PART: &str = "tintype::requests";

/// What handlers learn of a call on the way, for its line.
#[derive(Clone, Copy, Default)]
struct Notes {
    account: Option<AccountId>,
    job: Option<JobId>,
}

/// The job that an answer is about, for its line.
#[derive(Clone, Copy)]
struct JobOf(JobId);

/// Are there lines of calls that went well?
fn is_on() -> bool {
    tracing::enabled!(target: PART, Level::INFO)
}

/// A call begins. Whoever wants no lines but of failures wants to know whose calls those were, and nobody knows yet which fail.
pub fn begin(request: &ServiceRequest) {
    if tracing::enabled!(target: PART, Level::WARN) {
        request.extensions_mut().insert(Notes::default());
    }
}

/// The account that a call has shown the key of.
pub fn note_account(request: &HttpRequest, account: AccountId) {
    if let Some(notes) = request.extensions_mut().get_mut::<Notes>() {
        notes.account = Some(account);
    }
}

/// The job that a call is about, where its path does not say so.
pub fn note_job(request: &HttpRequest, job: JobId) {
    if let Some(notes) = request.extensions_mut().get_mut::<Notes>() {
        notes.job = Some(job);
    }
}

/// The same where the answer is at hand, but not the call; of calls that went well.
pub fn note_job_of(answer: &mut actix_web::HttpResponseBuilder, job: JobId) {
    if is_on() {
        answer.extensions_mut().insert(JobOf(job));
    }
}

/// A call was answered.
pub fn answered(response: &ServiceResponse, route: Option<&str>, id: &str, took: Duration) {
    let status = response.status();
    if !(is_on() || has_failed(status)) {
        return;
    }
    let request = response.request();
    let notes = request.extensions().get::<Notes>().copied();
    let notes = notes.unwrap_or_default();
    let in_path = || request.match_info().get("job_id")?.parse().ok();
    let in_answer = response
        .response()
        .extensions()
        .get()
        .map(|it: &JobOf| it.0);
    tell(&Line {
        id,
        method: request.method(),
        path: request.path(),
        route,
        status,
        took,
        account: notes.account,
        job: notes.job.or(in_answer).or_else(in_path),
    });
}

/// A call ended in an error that took its request with it.
pub fn broke(method: &Method, path: &str, status: StatusCode, id: &str, took: Duration) {
    if is_on() || has_failed(status) {
        tell(&Line {
            id,
            method,
            path,
            route: None,
            status,
            took,
            account: None,
            job: None,
        });
    }
}

/// Is the service at fault, or what it stands on? 503 is not meant: it is said on purpose, and to many at a time.
fn has_failed(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE
}

struct Line<'a> {
    id: &'a str,
    method: &'a Method,
    path: &'a str,
    route: Option<&'a str>,
    status: StatusCode,
    took: Duration,
    account: Option<AccountId>,
    job: Option<JobId>,
}

fn tell(line: &Line<'_>) {
    macro_rules! line_at {
        ($level:expr) => {
            tracing::event!(
                target: PART,
                $level,
                request_id = line.id,
                method = line.method.as_str(),
                route = line.route,
                path = line.path,
                status = line.status.as_u16(),
                duration_ms = (line.took.as_micros() as f64) / 1_000.0,
                account = line.account.map(tracing::field::display),
                job = line.job.map(tracing::field::display),
                "answered"
            )
        };
    }
    if has_failed(line.status) {
        line_at!(Level::WARN);
    } else {
        line_at!(Level::INFO);
    }
}
