//! Answers to paths and methods that the OpenAI interface does not have.

use crate::compat::dialect::Dialect;
use crate::compat::refusal::{Kind, Refusal};
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};

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
