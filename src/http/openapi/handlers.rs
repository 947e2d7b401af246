//! `GET /api/v1/openapi.json` (public) and `GET /admin/v1/openapi.json` (for the operator).
//!
//! The client document needs no key, because a reader may not have one yet. The operator's document needs the token like every path below
//! `/admin/v1`: one rule without exceptions is easier to keep, also for a proxy.

use crate::application::settings::Settings;
use crate::web::auth::Operator;
use crate::web::entity_tag;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use serde_json::Value;
use std::sync::OnceLock;

/// Generates each document at its first request. The documents depend only on the configuration, so they never change while the process
/// runs.
pub struct Documents {
    write_native: WriteDocument,
    write_operator: WriteDocument,
    native: OnceLock<RenderedDocument>,
    operator: OnceLock<RenderedDocument>,
}

pub type WriteDocument = fn(&Settings) -> Value;

impl Documents {
    pub fn new(write_native: WriteDocument, write_operator: WriteDocument) -> Self {
        Self {
            write_native,
            write_operator,
            native: OnceLock::new(),
            operator: OnceLock::new(),
        }
    }
}

struct RenderedDocument {
    text: Bytes,
    tag: String,
}

impl RenderedDocument {
    fn new(document: &Value) -> Self {
        // A map with string keys always serializes.
        let text = serde_json::to_vec(document).unwrap_or_default();
        Self {
            tag: entity_tag::of([&*text]),
            text: text.into(),
        }
    }
}

pub async fn native(
    request: HttpRequest,
    settings: web::Data<Settings>,
    documents: web::Data<Documents>,
) -> HttpResult {
    let generate = || RenderedDocument::new(&(documents.write_native)(&settings));
    Ok(respond(&request, documents.native.get_or_init(generate)))
}

pub async fn operator(
    _: Operator,
    request: HttpRequest,
    settings: web::Data<Settings>,
    documents: web::Data<Documents>,
) -> HttpResult {
    let generate = || RenderedDocument::new(&(documents.write_operator)(&settings));
    Ok(respond(&request, documents.operator.get_or_init(generate)))
}

fn respond(request: &HttpRequest, written: &RenderedDocument) -> HttpResponse {
    entity_tag::respond(request, written.tag.clone(), "no-cache", |response| {
        response
            .content_type("application/json")
            .body(written.text.clone())
    })
}
