//! Assembles the OpenAPI documents.

use super::api_router::ApiRouter;
use super::openapi::error_responses;
use super::openapi::operations::events_to_webhooks;
use super::openapi::prose;
use super::openapi::{Document, DocumentBuilder, Documents, Header};
use crate::application::settings::Settings;
use crate::http::{admin, routes};
use serde_json::{Map, Value, json};
use tintype_api::Problem;

/// The documents of this service. Each is generated at its first request.
pub fn documents() -> Documents {
    Documents {
        native: Document::new(native),
        operator: Document::new(operator),
    }
}

/// The document for clients, with the public paths.
pub fn native(settings: &Settings) -> Value {
    let routers = [routes::native(), routes::public()];
    let mut builder = DocumentBuilder::new(&settings.config, &settings.catalog);
    let webhooks = events_to_webhooks(&mut builder);
    let mut document = assemble(settings, routers, &mut builder);
    document["info"] = json!({
        "title": "Tintype",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Generates images from prompts: a call creates a job at once, and you download its image when it is done",
        "description": prose::native(settings),
        "license": {"name": "MIT or Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE")},
    });
    document["tags"] = prose::groups(prose::NATIVE);
    document["webhooks"] = webhooks;
    let schemes = json!({"apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, `tt_` and 49 characters: `Authorization: Bearer tt_...`.",
    }});
    complete(document, builder, schemes)
}

/// The document for the operator.
pub fn operator(settings: &Settings) -> Value {
    let mut builder = DocumentBuilder::new(&settings.config, &settings.catalog);
    let mut document = assemble(settings, [admin::router()], &mut builder);
    document["info"] = json!({
        "title": "Tintype, for its operator",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Accounts, deposits, keys, webhooks and pauses",
        "description": prose::OPERATOR,
        "license": {"name": "MIT or Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE")},
    });
    document["tags"] = prose::groups(prose::OPERATORS);
    let schemes = json!({"adminToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The operator token: `[admin] token`, `TINTYPE_ADMIN_TOKEN`, or the file `admin-token` in the data directory.",
    }});
    complete(document, builder, schemes)
}

/// A document with the calls of these routers and their shared responses.
fn assemble(
    settings: &Settings,
    routers: impl IntoIterator<Item = ApiRouter>,
    builder: &mut DocumentBuilder<'_>,
) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut responses = Map::new();
    for call in routers.into_iter().flat_map(ApiRouter::calls) {
        let method = call.method.as_str().to_ascii_lowercase();
        let operation = call.describe(builder);
        let operation = operation.write(&call.path, call.auth, &mut responses);
        let path = paths.entry(call.path).or_insert_with(|| json!({}));
        path[method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {},
        "servers": [{"url": settings.public_url, "description": "This service"}],
        "tags": [],
        "paths": paths,
        "components": {"responses": responses},
    })
}

fn complete(mut document: Value, mut builder: DocumentBuilder<'_>, schemes: Value) -> Value {
    builder.schema::<Problem<'static>>();
    let mut schemas = builder.definitions();
    error_responses::list_codes(&mut schemas["Problem"]);
    document["components"]["schemas"] = schemas.into();
    document["components"]["headers"] = Header::components().into();
    document["components"]["securitySchemes"] = schemes;
    document
}
