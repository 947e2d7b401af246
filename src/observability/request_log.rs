//! One log line for each call: method, route, status, duration, account and job.
//!
//! The lines have their own target, `tintype::requests`, so the filter can enable them separately. A disabled line costs one
//! comparison. Lines never hold the query, which can contain keys and signatures.

use super::metrics::route_label;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpMessage as _, HttpRequest};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tokio::time::Instant;
use tracing::Level;

const TARGET: &str = "tintype::requests";

/// Facts that handlers add to the line of a call.
#[derive(Clone, Copy, Default)]
struct Annotations {
    account: Option<AccountId>,
    job: Option<JobId>,
    /// The end of the caller's own timeout, if that is shorter than the configured one.
    callers_deadline: Option<Instant>,
}

impl Annotations {
    /// Did the caller's own timeout end the call? Callers could otherwise write any number of warnings.
    fn is_callers_timeout(&self, status: StatusCode, now: Instant) -> bool {
        status == StatusCode::GATEWAY_TIMEOUT && self.callers_deadline.is_some_and(|it| it <= now)
    }
}

/// The job of a response.
#[derive(Clone, Copy)]
struct ResponseJob(JobId);

fn logs_successes() -> bool {
    tracing::enabled!(target: TARGET, Level::INFO)
}

/// Called when a call starts. Collects annotations even if only failures are logged, because the outcome is not known yet.
pub fn begin(request: &ServiceRequest) {
    if tracing::enabled!(target: TARGET, Level::WARN) {
        request.extensions_mut().insert(Annotations::default());
    }
}

/// Records the authenticated account.
pub fn record_account(request: &HttpRequest, account: AccountId) {
    if let Some(annotations) = request.extensions_mut().get_mut::<Annotations>() {
        annotations.account = Some(account);
    }
}

/// Records the job of a call whose path does not name it.
pub fn record_job(request: &HttpRequest, job: JobId) {
    if let Some(annotations) = request.extensions_mut().get_mut::<Annotations>() {
        annotations.job = Some(job);
    }
}

/// Records the end of the caller's own timeout.
pub fn record_callers_deadline(request: &HttpRequest, deadline: Instant) {
    if let Some(annotations) = request.extensions_mut().get_mut::<Annotations>() {
        annotations.callers_deadline = Some(deadline);
    }
}

/// The same as [`record_job`] for code that has the response but not the call. Only for successful calls.
pub fn record_job_in_response(response: &mut actix_web::HttpResponseBuilder, job: JobId) {
    if logs_successes() {
        response.extensions_mut().insert(ResponseJob(job));
    }
}

pub fn log_response(response: &ServiceResponse, route: Option<&str>, id: &str, took: Duration) {
    let status = response.status();
    if !(logs_successes() || is_failure(status)) {
        return;
    }
    let request = response.request();
    let annotations = request.extensions().get::<Annotations>().copied();
    let annotations = annotations.unwrap_or_default();
    let is_failure = is_failure(status) && !annotations.is_callers_timeout(status, Instant::now());
    if !(logs_successes() || is_failure) {
        return;
    }
    let in_path = || request.match_info().get("job_id")?.parse().ok();
    let in_response = response
        .response()
        .extensions()
        .get()
        .map(|it: &ResponseJob| it.0);
    write(&Line {
        id,
        method: request.method(),
        path: request.path(),
        route: route.map(route_label),
        status,
        is_failure,
        took,
        account: annotations.account,
        job: annotations.job.or(in_response).or_else(in_path),
    });
}

/// Logs a call that ended in an error without its request.
pub fn log_error(method: &Method, path: &str, status: StatusCode, id: &str, took: Duration) {
    let is_failure = is_failure(status);
    if logs_successes() || is_failure {
        write(&Line {
            id,
            method,
            path,
            route: None,
            status,
            is_failure,
            took,
            account: None,
            job: None,
        });
    }
}

/// Excludes 503, which the service sends deliberately and to many callers at once.
fn is_failure(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE
}

struct Line<'a> {
    id: &'a str,
    method: &'a Method,
    path: &'a str,
    route: Option<String>,
    status: StatusCode,
    is_failure: bool,
    took: Duration,
    account: Option<AccountId>,
    job: Option<JobId>,
}

fn write(line: &Line<'_>) {
    macro_rules! line_at {
        ($level:expr) => {
            tracing::event!(
                target: TARGET,
                $level,
                request_id = line.id,
                method = line.method.as_str(),
                route = line.route.as_deref(),
                path = line.path,
                status = line.status.as_u16(),
                duration_ms = (line.took.as_micros() as f64) / 1_000.0,
                account = line.account.map(tracing::field::display),
                job = line.job.map(tracing::field::display),
                "answered"
            )
        };
    }
    if line.is_failure {
        line_at!(Level::WARN);
    } else {
        line_at!(Level::INFO);
    }
}
