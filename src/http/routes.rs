//! Which path is handled where. Under the two interfaces every path asks for credentials first, unknown ones too.

use super::auth::{Operator, Principal};
use super::problem::{Code, Problem};
use super::wire::generation::Endpoint;
use super::{
    admin, balance, events, generations, health, history, jobs, key, models, transactions,
};
use crate::images::serve;
use crate::metrics;
use actix_web::dev::HttpServiceFactory;
use actix_web::{HttpRequest, HttpResponse, Resource, Scope, web};
use tintype_storage::domain::tier::{Mode, Tier};

/// The generation calls: path below `/api/v1`, tier and mode.
const GENERATIONS: [(&str, Tier, Mode); 6] = [
    ("/text-generations", Tier::Pro, Mode::TextToImage),
    ("/url-generations", Tier::Pro, Mode::ImageToImage),
    ("/nb2/text-generations", Tier::Quality, Mode::TextToImage),
    ("/nb2/url-generations", Tier::Quality, Mode::ImageToImage),
    ("/nb/text-generations", Tier::Fast, Mode::TextToImage),
    ("/nb/url-generations", Tier::Fast, Mode::ImageToImage),
];

/// Adds all routes.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(native())
        .service(operator())
        .configure(crate::compat::configure)
        .configure(crate::panel::configure)
        .service(
            open("/healthz", "GET, HEAD")
                .route(web::get().to(health::healthz))
                .route(web::head().to(health::healthz)),
        )
        .service(
            open("/readyz", "GET, HEAD")
                .route(web::get().to(health::readyz))
                .route(web::head().to(health::readyz)),
        )
        .service(
            open("/metrics", "GET, HEAD")
                .route(web::get().to(metrics::show))
                .route(web::head().to(metrics::show)),
        )
        .service(
            open(serve::ROUTE, "GET, HEAD")
                .route(web::get().to(file))
                .route(web::head().to(file)),
        )
        .default_service(web::to(unknown));
}

fn native() -> impl HttpServiceFactory {
    let mut scope = web::scope("/api/v1");
    for (path, tier, mode) in GENERATIONS {
        let endpoint = Endpoint { tier, mode };
        scope = scope.service(client(path, "POST").route(web::post().to(
            move |principal, request, payload, state| {
                generations::create(endpoint, principal, request, payload, state)
            },
        )));
    }
    scope
        .service(
            client("/jobs/{job_id}", "DELETE, GET, HEAD")
                .route(web::get().to(jobs::show))
                .route(web::head().to(jobs::show))
                .route(web::delete().to(jobs::cancel)),
        )
        .service(
            client("/jobs", "GET, HEAD")
                .route(web::get().to(history::list))
                .route(web::head().to(history::list)),
        )
        .service(
            client("/jobs/{job_id}/events", "GET, HEAD")
                .route(web::get().to(events::follow))
                .route(web::head().to(events::follow)),
        )
        .service(
            client("/balance", "GET, HEAD")
                .route(web::get().to(balance::show))
                .route(web::head().to(balance::show)),
        )
        .service(
            client("/transactions", "GET, HEAD")
                .route(web::get().to(transactions::list))
                .route(web::head().to(transactions::list)),
        )
        .service(
            client("/models", "GET, HEAD")
                .route(web::get().to(models::list))
                .route(web::head().to(models::list)),
        )
        .service(
            client("/key", "GET, HEAD")
                .route(web::get().to(key::show))
                .route(web::head().to(key::show)),
        )
        .default_service(web::to(unknown_to_client))
}

fn operator() -> Scope {
    admin::routes(web::scope("/admin/v1")).default_service(web::to(unknown_to_operator))
}

/// A path that needs no credentials.
fn open(path: &str, allow: &'static str) -> Resource {
    web::resource(path).default_service(web::to(move || async move { refuse_method(allow) }))
}

/// A path for clients: a wrong method is told only to those who have a key.
fn client(path: &str, allow: &'static str) -> Resource {
    web::resource(path).default_service(web::to(
        move |_: Principal| async move { refuse_method(allow) },
    ))
}

/// A path for the operator.
pub(super) fn for_operator(path: &str, allow: &'static str) -> Resource {
    web::resource(path).default_service(web::to(
        move |_: Operator| async move { refuse_method(allow) },
    ))
}

fn refuse_method(allow: &'static str) -> Result<HttpResponse, Problem> {
    Err(Problem::method_not_allowed(allow))
}

async fn file(
    request: HttpRequest,
    state: web::Data<super::state::AppState>,
) -> Result<HttpResponse, Problem> {
    Ok(serve::answer(&request, &state.images, state.now().to_datetime()).await?)
}

async fn unknown() -> Result<HttpResponse, Problem> {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path; the interface is at /api/v1",
    ))
}

async fn unknown_to_client(_: Principal) -> Result<HttpResponse, Problem> {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path below /api/v1",
    ))
}

async fn unknown_to_operator(_: Operator) -> Result<HttpResponse, Problem> {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path below /admin/v1",
    ))
}
