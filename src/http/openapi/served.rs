//! `GET /api/v1/openapi.json`, for everybody, and `GET /admin/v1/openapi.json`, for the operator.
//!
//! The client document needs no key: whoever is to decide whether to call has none yet. The operator's asks for the token,
//! like every path below `/admin/v1`: nobody else has a use for it, and one rule without an exception is easier to keep and to
//! put a proxy in front of.

use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::problem::Problem;
use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

/// The documents, each made when it is first asked for. They change with the configuration, so not while the process lives.
pub struct Documents {
    write_native: WriteDocument,
    write_operator: WriteDocument,
    native: OnceLock<Written>,
    operator: OnceLock<Written>,
}

/// Writes a document.
pub type WriteDocument = fn(&AppState) -> Value;

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

struct Written {
    text: Bytes,
    tag: EntityTag,
}

impl Written {
    fn new(document: &Value) -> Self {
        // A map with string keys always encodes.
        let text = serde_json::to_vec(document).unwrap_or_default();
        let digest = Sha256::digest(&text);
        Self {
            tag: EntityTag::new_strong(hex::encode(&digest[..12])),
            text: text.into(),
        }
    }
}

/// The document for clients.
pub async fn native(
    request: HttpRequest,
    state: web::Data<AppState>,
    documents: web::Data<Documents>,
) -> Result<HttpResponse, Problem> {
    let made = || Written::new(&(documents.write_native)(&state));
    Ok(answer(&request, documents.native.get_or_init(made)))
}

/// The document for the operator.
pub async fn operator(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
    documents: web::Data<Documents>,
) -> Result<HttpResponse, Problem> {
    let made = || Written::new(&(documents.write_operator)(&state));
    Ok(answer(&request, documents.operator.get_or_init(made)))
}

fn answer(request: &HttpRequest, written: &Written) -> HttpResponse {
    let is_known = IfNoneMatch::parse(request).is_ok_and(|it| match it {
        IfNoneMatch::Any => true,
        IfNoneMatch::Items(tags) => tags.iter().any(|tag| tag.weak_eq(&written.tag)),
    });
    // Where the header is missing it parses as an empty list, which knows nothing.
    let mut answer = match is_known {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    };
    answer.insert_header((header::CACHE_CONTROL, "no-cache"));
    answer.insert_header(header::ETag(written.tag.clone()));
    match is_known {
        true => answer.finish(),
        false => answer
            .content_type("application/json")
            .body(written.text.clone()),
    }
}
