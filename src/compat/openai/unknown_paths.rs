//! Paths that Google's interface has too, and answers to paths and methods that OpenAI's does not have.

use crate::compat::auth;
use crate::compat::dialect::Dialect;
use crate::compat::refusal::{Kind, Refusal};
use actix_web::guard::fn_guard;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

/// A path that Google's interface has as well: calls with a key as Google's SDKs send it are not for this one.
pub fn shared_path(path: &str) -> Resource {
    web::resource(path).guard(fn_guard(|call| !auth::is_of_google(call.head())))
}

/// There is nothing at this path.
pub async fn nothing_there(request: HttpRequest) -> HttpResponse {
    let message = format!(
        "there is nothing at {} {}; images are made at /v1/images/generations and /v1/images/edits, files are at /v1/files, and batches at /v1/batches",
        request.method(),
        request.path()
    );
    Dialect::OpenAi.answer(&Refusal::new(Kind::NotFound, message))
}

/// The path takes `POST` alone.
pub async fn only_post(request: HttpRequest) -> HttpResponse {
    wrong_method(&request, "POST")
}

/// The path takes `GET` alone.
pub async fn only_get(request: HttpRequest) -> HttpResponse {
    wrong_method(&request, "GET")
}

/// The path takes `GET` and `POST`.
pub async fn only_get_or_post(request: HttpRequest) -> HttpResponse {
    wrong_method(&request, "GET, POST")
}

/// The path takes `GET` and `DELETE`.
pub async fn only_get_or_delete(request: HttpRequest) -> HttpResponse {
    wrong_method(&request, "GET, DELETE")
}

fn wrong_method(request: &HttpRequest, allowed: &'static str) -> HttpResponse {
    let message = format!("{} takes {allowed}", request.path());
    let mut answer = Dialect::OpenAi.answer(&Refusal::new(Kind::WrongMethod, message));
    let allow = HeaderValue::from_static(allowed);
    answer.headers_mut().insert(header::ALLOW, allow);
    answer
}
