//! Paths that the Gemini API has too, and responses for unknown paths and methods of the OpenAI API.

use crate::compat::auth;
use crate::compat::dialect::Dialect;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::wrong_base_url::base_url_advice;
use crate::web::problem::catch_panic::GuardedResource;
use actix_web::guard::fn_guard;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use std::future::ready;

const SERVED: &str = "generate images at /v1/images/generations, /v1/images/edits and /v1/responses; files are at /v1/files, and batches at /v1/batches";

/// A path that the Gemini API has too. It does not match requests with a key in the way of Google's SDKs.
pub fn shared_path(path: &str) -> Resource {
    web::resource(path).guard(fn_guard(|call| !auth::has_google_key(call.head())))
}

/// A path with handlers for the `allowed` methods.
pub fn guarded(path: Resource, allowed: &'static str) -> GuardedResource {
    GuardedResource::new(path, move |request: HttpRequest| {
        ready(wrong_method(&request, allowed))
    })
}

pub async fn not_found(request: HttpRequest) -> HttpResponse {
    let (method, path) = (request.method(), request.path());
    let advice = base_url_advice(Dialect::OpenAi, path).unwrap_or(SERVED);
    let message = format!("unknown path: {method} {path}; {advice}");
    Dialect::OpenAi.response(&Refusal::new(Kind::NotFound, message))
}

fn wrong_method(request: &HttpRequest, allowed: &'static str) -> HttpResponse {
    let message = format!("{} supports only {allowed}", request.path());
    let mut response = Dialect::OpenAi.response(&Refusal::new(Kind::WrongMethod, message));
    let allow = HeaderValue::from_static(allowed);
    response.headers_mut().insert(header::ALLOW, allow);
    response
}
