//! `GET /api/v1/openapi.json` (public) and `GET /admin/v1/openapi.json` (for the operator).
//!
//! The client document needs no key, because a reader may not have one yet. The operator's document needs the token like every path below
//! `/admin/v1`: one rule without exceptions is easier to keep, also for a proxy.

use crate::application::settings::Settings;
use crate::web::auth::access::OperatorCall;
use crate::web::images::entity_tag;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use serde_json::Value;
use std::sync::OnceLock;
use tintype_storage::json;

pub struct Documents {
    pub native: Document,
    pub operator: Document,
}

/// Generated at its first request. A document depends only on the configuration, so it never changes while the process runs.
pub struct Document {
    write: fn(&Settings) -> Value,
    rendered: OnceLock<RenderedDocument>,
}

struct RenderedDocument {
    text: Bytes,
    tag: String,
}

impl Document {
    pub fn new(write: fn(&Settings) -> Value) -> Self {
        Self {
            write,
            rendered: OnceLock::new(),
        }
    }

    fn respond(&self, request: &HttpRequest, settings: &Settings) -> HttpResponse {
        let rendered = self.rendered.get_or_init(|| {
            let text = json::to_bytes(&(self.write)(settings));
            RenderedDocument {
                tag: entity_tag::of([&*text]),
                text: text.into(),
            }
        });
        entity_tag::respond(request, rendered.tag.clone(), "no-cache", |response| {
            response
                .content_type("application/json")
                .body(rendered.text.clone())
        })
    }
}

pub async fn native(
    request: HttpRequest,
    settings: web::Data<Settings>,
    documents: web::Data<Documents>,
) -> HttpResult {
    Ok(documents.native.respond(&request, &settings))
}

pub async fn operator(
    _: OperatorCall,
    request: HttpRequest,
    settings: web::Data<Settings>,
    documents: web::Data<Documents>,
) -> HttpResult {
    Ok(documents.operator.respond(&request, &settings))
}
