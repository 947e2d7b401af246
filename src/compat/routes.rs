//! Routes of the synchronous APIs. Under their prefixes every response, including that for an unknown path, has the format of the
//! dialect.

use super::dialect::Dialect;
use super::gemini;
use super::models;
use super::openai;
use super::openai::unknown_paths::guarded;
use super::wrong_base_url;
use crate::web::problem::catch_panic::GuardedResource;
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            guarded(web::resource("/v1/images/generations"), "POST")
                .post(openai::generations::create),
        )
        .service(guarded(web::resource("/v1/images/edits"), "POST").post(openai::edits::create))
        .service(
            web::resource("/v1/images{rest:(/.*)?}")
                .default_service(web::to(openai::unknown_paths::not_found)),
        )
        .configure(openai::responses::configure)
        .configure(openai::files::configure)
        .configure(openai::batches::configure)
        .service(
            GuardedResource::new(versioned_resource("/models"), unknown)
                .get(models::list)
                .head(models::list),
        )
        .service(
            GuardedResource::new(versioned_resource("/models/{model:.+}"), unknown)
                .post(gemini::call)
                .get(models::show)
                .head(models::show),
        )
        .configure(gemini::interactions::configure)
        .service(versioned_resource("{rest:(/.*)?}").default_service(web::to(unknown)))
        .service(
            web::resource("/upload/{version:v1|v1beta|v1alpha}{rest:(/.*)?}")
                .default_service(web::to(gemini::unknown_paths::not_found)),
        );
}

/// The dialect of a path; `None` for the native API.
pub fn dialect_of(path: &str) -> Option<Dialect> {
    let mut segments = path.strip_prefix('/')?.split('/');
    match (segments.next()?, segments.next()) {
        ("v1", Some("images" | "responses" | "files" | "batches")) => Some(Dialect::OpenAi),
        ("v1" | "v1beta" | "v1alpha", _) | ("upload", Some("v1" | "v1beta" | "v1alpha")) => {
            Some(Dialect::Gemini)
        }
        _ => None,
    }
}

/// All versions are the same API.
fn versioned_resource(path: &str) -> Resource {
    web::resource(format!("/{{version:v1|v1beta|v1alpha}}{path}"))
}

async fn unknown(request: HttpRequest) -> HttpResponse {
    let of_path = || models::dialect(&request, &request.match_info()["version"]);
    match wrong_base_url::sdk_of(request.headers()).unwrap_or_else(of_path) {
        Dialect::OpenAi => openai::unknown_paths::not_found(request).await,
        Dialect::Gemini => gemini::unknown_paths::not_found(request).await,
    }
}
