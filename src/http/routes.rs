//! The routes. Below both interfaces every path requires credentials first, even unknown ones.

use super::api_router::{ApiPath, ApiRouter};
use super::openapi::RequiredAuth;
use super::openapi::operations::{
    batches as of_batches, files as of_files, generations as of_generations, jobs as of_jobs,
    own_account as of_own_account, service as of_service,
};
use super::{
    admin, batches, events, files, generations, health, job_list, jobs, metrics, openapi,
    own_account, status,
};
use crate::api::generation::Endpoint;
use crate::web::auth::Principal;
use crate::web::auth::access::OperatorCall;
use crate::web::images::file_download;
use crate::web::no_store;
use crate::web::problem::{Code, HttpResult, Problem};
use crate::web::read_only::read_only;
use actix_web::web;
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

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(native().scope().default_service(web::to(unknown_to_client)))
        .service(
            admin::router()
                .scope()
                .app_data(admin::AUTHENTICATOR)
                .wrap(no_store::by_default())
                .default_service(web::to(unknown_to_operator)),
        );
    public().register(service);
    service.service(read_only(
        web::resource("/status/assets/{name}"),
        status::asset,
    ));
    service.default_service(web::to(unknown));
}

pub fn native() -> ApiRouter {
    let at = |path| ApiPath::new(RequiredAuth::ApiKey, path);
    let generations = GENERATIONS.map(|(path, tier, mode)| {
        let endpoint = Endpoint { tier, mode };
        at(path).post(
            move |principal, request, payload, state| {
                generations::create(endpoint, principal, request, payload, state)
            },
            move |builder| of_generations::create(endpoint, builder),
        )
    });
    let others = [
        at("/jobs").get(job_list::list, of_jobs::list),
        at("/jobs/{job_id}")
            .get(jobs::show, of_jobs::show)
            .delete(jobs::cancel, of_jobs::cancel),
        at("/jobs/{job_id}/image").delete(jobs::delete_image, of_jobs::delete_image),
        at("/jobs/{job_id}/events").get(events::follow, of_jobs::follow),
        at("/batches")
            .get(batches::list, of_batches::list)
            .post(batches::create, of_batches::create),
        at("/batches/{batch_id}")
            .get(batches::show, of_batches::show)
            .delete(batches::cancel, of_batches::cancel),
        at("/batches/{batch_id}/results").get(batches::results, of_batches::results),
        at("/balance").get(own_account::balance, of_own_account::balance),
        at("/transactions").get(own_account::transactions, of_own_account::transactions),
        at("/usage").get(own_account::daily_usage, of_own_account::daily_usage),
        at("/models").get(own_account::models, of_own_account::models),
        at("/key").get(own_account::key, of_own_account::key),
        ApiPath::new(RequiredAuth::None, "/openapi.json").get(openapi::native, of_service::native),
    ];
    ApiRouter::new("/api/v1", generations.into_iter().chain(others).collect())
}

/// Paths outside both interfaces, which need no credentials.
pub fn public() -> ApiRouter {
    let paths = [
        ApiPath::new(RequiredAuth::None, file_download::ROUTE)
            .documented_as("/files/results/{file}")
            .get(files::show, of_files::show),
        ApiPath::new(RequiredAuth::None, "/healthz").get(health::healthz, of_service::healthz),
        ApiPath::new(RequiredAuth::None, "/readyz").get(health::readyz, of_service::readyz),
        ApiPath::new(RequiredAuth::None, "/status").get(status::show, of_service::status),
        ApiPath::new(RequiredAuth::None, "/metrics").get(metrics::show, of_service::metrics),
    ];
    ApiRouter::new("", paths.into())
}

async fn unknown() -> HttpResult {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path; the API is at /api/v1, its documentation at /docs",
    ))
}

async fn unknown_to_client(_: Principal) -> HttpResult {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path below /api/v1",
    ))
}

async fn unknown_to_operator(_: OperatorCall) -> HttpResult {
    Err(Problem::new(
        Code::NotFound,
        "there is nothing at this path below /admin/v1",
    ))
}
