//! The documents as a whole.

use super::api_router::{ApiRouter, Call};
use super::openapi::prose;
use super::openapi::refusals;
use super::openapi::{Documents, Header, Sketch};
use super::operations::events_to_webhooks;
use crate::application::state::AppState;
use crate::http::{admin, routes};
use serde_json::{Map, Value, json};

/// The documents of this service, each written when it is first asked for.
pub fn documents() -> Documents {
    Documents::new(native, operator)
}

/// What clients call, with the paths that nobody needs a key for.
pub fn native(state: &AppState) -> Value {
    let routers = [routes::native(), routes::open()];
    let mut sketch = Sketch::new(&state.config, &state.catalog);
    let webhooks = events_to_webhooks(&state.config.webhooks.retry_delays_seconds);
    let mut document = assemble(state, routers, &mut sketch);
    document["info"] = json!({
        "title": "Tintype",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Pictures from prompts: a job is accepted at once, and its picture fetched when it is done",
        "description": prose::native(state),
        "license": {"name": "MIT or Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE")},
    });
    document["tags"] = prose::groups(prose::NATIVE);
    document["webhooks"] = webhooks;
    let schemes = json!({"apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, `tt_` and 49 characters: `Authorization: Bearer tt_...`.",
    }});
    completed(document, sketch, schemes)
}

/// What the operator calls.
pub fn operator(state: &AppState) -> Value {
    let mut sketch = Sketch::new(&state.config, &state.catalog);
    let mut document = assemble(state, [admin::surface()], &mut sketch);
    document["info"] = json!({
        "title": "Tintype, for its operator",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Accounts, money, keys, webhooks and switches",
        "description": prose::OPERATOR,
        "license": {"name": "MIT or Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE")},
    });
    document["tags"] = prose::groups(prose::OPERATORS);
    let schemes = json!({"adminToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The operator's token: `[admin] token`, `TINTYPE_ADMIN_TOKEN`, or the file `admin-token` in the data directory.",
    }});
    completed(document, sketch, schemes)
}

/// The calls of these routers, and the responses that they share.
fn assemble(
    state: &AppState,
    routers: impl IntoIterator<Item = ApiRouter>,
    sketch: &mut Sketch<'_>,
) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut responses = Map::new();
    for call in routers.into_iter().flat_map(ApiRouter::calls) {
        let method = call.method.as_str().to_ascii_lowercase();
        let operation = written(&call, sketch, &mut responses);
        let path = paths.entry(call.path).or_insert_with(|| json!({}));
        path[method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {},
        "servers": [{"url": state.public_url, "description": "This service"}],
        "tags": [],
        "paths": paths,
        "components": {"responses": responses},
    })
}

fn written(call: &Call, sketch: &mut Sketch<'_>, responses: &mut Map<String, Value>) -> Value {
    call.describe(sketch).write(call.door, responses)
}

fn completed(mut document: Value, sketch: Sketch<'_>, schemes: Value) -> Value {
    let mut schemas = sketch.definitions();
    schemas.insert("Problem".to_owned(), refusals::problem());
    document["components"]["schemas"] = schemas.into();
    document["components"]["headers"] = Header::components().into();
    document["components"]["securitySchemes"] = schemes;
    document
}
