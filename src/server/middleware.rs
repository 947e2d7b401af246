//! The outermost middleware: adds the request id, renders errors, catches panics, and logs and counts each request.

use super::database_outage;
use crate::application::core::Core;
use crate::application::error;
use crate::compat::{self, Dialect, Refusal};
use crate::observability::metrics::WorkerMetrics;
use crate::observability::request_log;
use crate::web::auth::rate_headers;
use crate::web::framing::Framing;
use crate::web::problem::Problem;
use crate::web::request_id::RequestId;
use crate::web::unread_body::{self, Unread};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpResponse, ResponseError, web};
use futures_util::FutureExt as _;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Handlers below these paths need the request id for the audit log.
const AUDITED: [&str; 2] = ["/admin/", "/panel/"];

pub async fn wrap<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let began = Instant::now();
    let visit = request.app_data().map(WorkerMetrics::begin);
    let id = RequestId::of(request.request());
    let method = request.method().clone();
    let path = request.path().to_owned();
    request_log::begin(&request);
    let outcome = handle(request, next, &id).await;
    let took = began.elapsed();
    let (route, status) = match &outcome {
        Ok(response) => {
            let route = response.request().match_pattern();
            request_log::log_response(response, route.as_deref(), id.as_str(), took);
            (route, response.status())
        }
        Err(error) => {
            let status = error.as_response_error().status_code();
            request_log::log_error(&method, &path, status, id.as_str(), took);
            (None, status)
        }
    };
    if let Some(visit) = visit {
        visit.end(route.as_deref(), &method, status, took);
    }
    outcome
}

async fn handle<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
    id: &RequestId,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // The path that the router matches: it decodes escapes.
    let path = request.match_info().as_str();
    let dialect = compat::dialect_of(path);
    let aborts = database_outage::aborts(path);
    let is_audited = AUDITED.iter().any(|prefix| path.starts_with(prefix));
    let unread = unread_body::keep(&mut request);
    let core = request.app_data::<web::Data<Core>>();
    let framing = Framing::of(request.head()).closing_if(is_draining(core));
    let rendered = |problem| RenderedProblem {
        problem,
        id: id.clone(),
        dialect,
        framing,
        unread: unread.clone(),
    };
    let path = request.match_info().as_str();
    if let Some(refusal) = core.and_then(|core| early_refusal(core, request.method(), path)) {
        let response = rendered(refusal).error_response();
        return Ok(with_headers(request.into_response(response), id));
    }
    let outage = database_outage::wait_until_abort(core.filter(|_| aborts).cloned());
    if is_audited {
        request.extensions_mut().insert(id.clone());
    }
    // Nothing here may hold a second handle on the request: the router needs exclusive access.
    let outcome = tokio::select! {
        biased;
        outcome = AssertUnwindSafe(next.call(request)).catch_unwind() => outcome,
        () = outage => return Err(rendered(error::database_unavailable().into()).into()),
    };
    let mut response = match outcome {
        Ok(Ok(response)) => response.map_into_boxed_body(),
        Ok(Err(error)) => return Err(rendered(problem_of(&error, id)).into()),
        Err(_) => {
            tracing::error!(request_id = %id.as_str(), "a handler panicked");
            return Err(rendered(error::internal().into()).into());
        }
    };
    response = render_fault(response, dialect, id);
    if let Some(unread) = unread {
        let (request, sent) = response.into_parts();
        response = ServiceResponse::new(request, unread.until_sent(sent));
    }
    // Also after a long poll that began before.
    let core = response.request().app_data::<web::Data<Core>>();
    let framing = framing.closing_if(is_draining(core));
    framing.apply(response.response_mut());
    Ok(with_headers(response, id))
}

/// Replaces a response by the problem or the refusal that its handler has left in it.
fn render_fault(
    mut response: ServiceResponse<BoxBody>,
    dialect: Option<Dialect>,
    id: &RequestId,
) -> ServiceResponse<BoxBody> {
    let problem = response.response_mut().extensions_mut().remove::<Problem>();
    if let Some(problem) = problem {
        tracing::debug!(request_id = %id.as_str(), %problem, "refused");
        let rendered = match dialect {
            Some(_) => render(&problem, dialect, id.as_str()),
            None => {
                let error = compat::error_for_wrong_base_url(response.request(), &problem);
                problem.render_with(id.as_str(), error)
            }
        };
        response = response.into_response(rendered);
    }
    let refusal = response.response_mut().extensions_mut().remove::<Refusal>();
    match (refusal, dialect) {
        (Some(refusal), Some(dialect)) => response.into_response(dialect.response(&refusal)),
        _ => response,
    }
}

/// Should callers open a new connection for the next call, to another node?
fn is_draining(core: Option<&web::Data<Core>>) -> bool {
    core.is_some_and(|core| core.is_draining())
}

/// Refuses every request while the process stops, and those that would wait for the database during an outage.
fn early_refusal(core: &Core, method: &Method, path: &str) -> Option<Problem> {
    if core.fail_stop.has_tripped() {
        return Some(error::stopping().into());
    }
    database_outage::refuses(core, method, path).then(|| error::database_unavailable().into())
}

fn problem_of(error: &Error, id: &RequestId) -> Problem {
    error.as_error::<Problem>().cloned().unwrap_or_else(|| {
        tracing::error!(request_id = %id.as_str(), %error, "unexpected error");
        error::internal().into()
    })
}

/// An error with all that its response needs: actix renders it without access to the request.
#[derive(Debug)]
struct RenderedProblem {
    problem: Problem,
    id: RequestId,
    /// `None`: the native interface.
    dialect: Option<Dialect>,
    framing: Framing,
    unread: Option<Unread>,
}

/// Renders a problem in the error format of the interface.
fn render(problem: &Problem, dialect: Option<Dialect>, id: &str) -> HttpResponse<BoxBody> {
    match dialect {
        Some(dialect) => dialect.response(&problem.clone().into()),
        None => problem.render(id),
    }
}

impl fmt::Display for RenderedProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl ResponseError for RenderedProblem {
    fn status_code(&self) -> StatusCode {
        self.problem.code.status()
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = render(&self.problem, self.dialect, self.id.as_str());
        self.id.write(response.headers_mut());
        self.framing.apply(&mut response);
        match self.unread.clone() {
            Some(unread) => unread.until_sent(response),
            None => response,
        }
    }
}

fn with_headers(
    mut response: ServiceResponse<BoxBody>,
    id: &RequestId,
) -> ServiceResponse<BoxBody> {
    id.write(response.headers_mut());
    let counted = rate_headers::states_of(response.request());
    rate_headers::write(&counted, response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::problem::catch_panic::CatchPanic;
    use crate::web::request_id::REQUEST_ID;
    use actix_web::App;
    use actix_web::middleware::from_fn;
    use actix_web::test::{
        TestRequest, call_service, init_service, read_body_json, try_call_service,
    };

    #[actix_web::test]
    async fn a_panic_is_answered_with_500_in_the_format_of_every_error() {
        let app = App::new()
            .wrap(from_fn(wrap))
            .route("/", web::get().to(panicking));
        let app = init_service(app).await;
        let call = TestRequest::get().uri("/").to_request();
        let error = try_call_service(&app, call).await.err();
        let response = error.map(|it| it.error_response());
        let response = response.expect("the error that the server renders");
        assert_eq!(response.status(), 500);
        assert!(response.headers().contains_key(REQUEST_ID));
        let body = actix_web::body::to_bytes(response.into_body()).await;
        let body: serde_json::Value = serde_json::from_slice(&body.unwrap()).unwrap();
        assert_eq!(body["code"], "internal");
    }

    async fn panicking() -> HttpResponse {
        panic!("a bug")
    }

    #[actix_web::test]
    async fn a_panic_is_answered_in_the_format_of_the_called_interface() {
        let app = App::new()
            .wrap(from_fn(wrap))
            .route("/v1/images/edits", web::post().to(CatchPanic(panicking)));
        let app = init_service(app).await;
        for path in ["/v1/images/edits", "/%761/images/edits"] {
            let call = TestRequest::post().uri(path).to_request();
            let response = call_service(&app, call).await;
            assert_eq!(response.status(), 500);
            assert!(response.headers().contains_key(REQUEST_ID));
            let body: serde_json::Value = read_body_json(response).await;
            assert!(body["error"]["message"].is_string(), "{body}");
        }
    }
}
