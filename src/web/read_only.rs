//! Paths that support only GET and HEAD.

use crate::web::problem::{HttpResult, Problem};
use actix_web::{FromRequest, Handler, Resource, Responder, web};

/// Routes GET and HEAD to the handler, and refuses all other methods.
pub fn read_only<F, Args>(resource: Resource, handler: F) -> Resource
where
    F: Handler<Args, Output: Responder + 'static>,
    Args: FromRequest + 'static,
{
    resource
        .route(web::get().to(handler.clone()))
        .route(web::head().to(handler))
        .default_service(web::to(refuse))
}

async fn refuse() -> HttpResult {
    Err(Problem::method_not_allowed("GET, HEAD"))
}
