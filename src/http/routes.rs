//! Which path is handled where. Under the two interfaces every path asks for credentials first, unknown ones too.

use super::api_router::{ApiPath, ApiRouter};
use super::openapi::Door;
use super::operations::{
    batches as of_batches, catalogue, files as of_files, generations as of_generations,
    jobs as of_jobs, money, service as of_service,
};
use super::{
    admin, balance, batches, events, files, generations, health, job_list, jobs, key, metrics,
    models, openapi, status, transactions,
};
use crate::api::generation::Endpoint;
use crate::images::serve;
use crate::web::auth::{Operator, Principal};
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::middleware::DefaultHeaders;
use actix_web::{HttpResponse, web};
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
        .service(native().scope().default_service(web::to(unknown_to_client)))
        .service(
            // Keys, secrets and customers' words: nothing of it belongs into a cache, whichever answer has it.
            admin::surface()
                .scope()
                .app_data(admin::AUTHENTICATOR)
                .wrap(DefaultHeaders::new().add((header::CACHE_CONTROL, "no-store")))
                .default_service(web::to(unknown_to_operator)),
        );
    open().register(service);
    service.service(
        web::resource("/status/assets/{name}")
            .route(web::get().to(status::part))
            .route(web::head().to(status::part))
            .default_service(web::to(wrong_method)),
    );
    service.default_service(web::to(unknown));
}

/// The paths for clients.
pub fn native() -> ApiRouter {
    let generations = GENERATIONS.map(|(path, tier, mode)| {
        let endpoint = Endpoint { tier, mode };
        ApiPath::new(Door::Client, path).post(
            move |principal, request, payload, state| {
                generations::create(endpoint, principal, request, payload, state)
            },
            move |sketch| of_generations::create(endpoint, sketch),
        )
    });
    let others = [
        ApiPath::new(Door::Client, "/jobs").get(job_list::list, of_jobs::list),
        ApiPath::new(Door::Client, "/jobs/{job_id}")
            .get(jobs::show, of_jobs::show)
            .delete(jobs::cancel, of_jobs::cancel),
        ApiPath::new(Door::Client, "/jobs/{job_id}/events").get(events::follow, of_jobs::follow),
        ApiPath::new(Door::Client, "/batches")
            .get(batches::list, of_batches::list)
            .post(batches::create, of_batches::create),
        ApiPath::new(Door::Client, "/batches/{batch_id}")
            .get(batches::show, of_batches::show)
            .delete(batches::cancel, of_batches::cancel),
        ApiPath::new(Door::Client, "/batches/{batch_id}/results")
            .get(batches::results, of_batches::results),
        ApiPath::new(Door::Client, "/balance").get(balance::show, money::balance),
        ApiPath::new(Door::Client, "/transactions").get(transactions::list, money::transactions),
        ApiPath::new(Door::Client, "/models").get(models::list, catalogue::models),
        ApiPath::new(Door::Client, "/key").get(key::show, catalogue::key),
        ApiPath::new(Door::Anyone, "/openapi.json").get(openapi::native, of_service::native),
    ];
    ApiRouter::new("/api/v1", generations.into_iter().chain(others).collect())
}

/// The paths that need no credentials, outside of the two interfaces.
pub fn open() -> ApiRouter {
    let paths = [
        ApiPath::new(Door::Anyone, serve::ROUTE)
            .shown_as("/files/results/{file}")
            .get(files::show, of_files::show),
        ApiPath::new(Door::Anyone, "/healthz").get(health::healthz, of_service::healthz),
        ApiPath::new(Door::Anyone, "/readyz").get(health::readyz, of_service::readyz),
        ApiPath::new(Door::Anyone, "/status").get(status::show, of_service::status),
        ApiPath::new(Door::Anyone, "/metrics").get(metrics::show, of_service::metrics),
    ];
    ApiRouter::new("", paths.into())
}

async fn wrong_method() -> Result<HttpResponse, Problem> {
    Err(Problem::method_not_allowed("GET, HEAD"))
}

async fn unknown() -> Result<HttpResponse, Problem> {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path; the interface is at /api/v1, and described at /docs",
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
