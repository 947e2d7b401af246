//! Checks answers against the OpenAPI documents that the service publishes: each answer that [`super::http::Request`] returns
//! must have a documented status, headers and body.

use super::http::Answer;
use super::options::ADMIN_TOKEN;
use super::raw::Wire;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// The client document and the operator document.
const DOCUMENT_PATHS: [&str; 2] = ["/api/v1/openapi.json", "/admin/v1/openapi.json"];
/// Prefixes of the paths that the documents cover.
const COVERED_PREFIXES: [&str; 6] = [
    "/api/v1/",
    "/admin/v1/",
    "/files/results/",
    "/healthz",
    "/readyz",
    "/metrics",
];
/// Headers that every answer of the server has.
const TRANSPORT_HEADERS: [&str; 5] = [
    "content-length",
    "content-type",
    "transfer-encoding",
    "date",
    "connection",
];

pub struct Contract {
    documents: [Value; 2],
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// A documented operation.
pub struct DescribedOperation<'a> {
    pub document: &'a Value,
    /// The path with the names of its parameters.
    pub template: String,
    /// In lower case.
    pub method: String,
    pub operation: &'a Value,
}

static PUBLISHED: OnceLock<Contract> = OnceLock::new();

/// Panics if an answer differs from the documents. Ignores paths that they do not cover, and methods that a path does not
/// have.
#[track_caller]
pub fn assert_documented(to: SocketAddr, method: &str, target: &str, answer: &Answer) {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    // The server rejects malformed HTTP before it routes the request.
    if answer.status == 400 && answer.body.is_empty() {
        return;
    }
    if !COVERED_PREFIXES.iter().any(|it| path.starts_with(it)) {
        return;
    }
    let Some(contract) = published(to) else {
        return;
    };
    let mut faults = contract.faults(method, path, answer);
    // A server with other settings publishes other documents; an address without documents is not a Tintype server.
    if !faults.is_empty() && answer.status < 500 {
        let own = contract.with_client_document_of(to);
        faults = own.map_or_else(Vec::new, |it| it.faults(method, path, answer));
    }
    assert!(
        faults.is_empty(),
        "{method} {target} is not as documented: {}\n{}",
        faults.join("; "),
        answer.text()
    );
}

/// The documents of the first server of this process that answered with them.
fn published(to: SocketAddr) -> Option<&'static Contract> {
    if let Some(known) = PUBLISHED.get() {
        return Some(known);
    }
    let read = Contract::of(to)?;
    Some(PUBLISHED.get_or_init(|| read))
}

fn fetch(to: SocketAddr, place: &str) -> Option<Value> {
    let mut wire = Wire::open(to);
    wire.send(
        format!("GET {place} HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\nConnection: close\r\n\r\n")
            .as_bytes(),
    );
    wire.answer_to("GET")
        .filter(|it| it.status == 200)
        .map(|it| it.json())
}

impl Contract {
    /// Fetches the documents of a server; `None` if it does not serve them now.
    pub fn of(to: SocketAddr) -> Option<Self> {
        Some(Self {
            documents: [fetch(to, DOCUMENT_PATHS[0])?, fetch(to, DOCUMENT_PATHS[1])?],
            validators: Mutex::default(),
        })
    }

    /// The same documents with another server's client document. Its operator document may need another token.
    fn with_client_document_of(&self, to: SocketAddr) -> Option<Self> {
        let [_, operator] = &self.documents;
        Some(Self {
            documents: [fetch(to, DOCUMENT_PATHS[0])?, operator.clone()],
            validators: Mutex::default(),
        })
    }

    /// The client document and the operator document.
    pub fn documents(&self) -> &[Value; 2] {
        &self.documents
    }

    /// Returns the operations of both documents.
    pub fn calls(&self) -> Vec<DescribedOperation<'_>> {
        let mut calls = Vec::new();
        for document in &self.documents {
            for (template, item) in document["paths"].as_object().unwrap() {
                for (method, operation) in item.as_object().unwrap() {
                    calls.push(DescribedOperation {
                        document,
                        template: template.clone(),
                        method: method.clone(),
                        operation,
                    });
                }
            }
        }
        calls
    }

    /// Finds the operation of a request; `HEAD` is `GET` without its body.
    pub fn call(&self, method: &str, path: &str) -> Option<DescribedOperation<'_>> {
        // Methods are case-sensitive (RFC 9110, section 9.1): `post` is unknown.
        let method = match method {
            "HEAD" => "get".to_owned(),
            known if known == known.to_ascii_uppercase() => known.to_ascii_lowercase(),
            _ => return None,
        };
        let mut fitting: Vec<_> = self
            .calls()
            .into_iter()
            .filter(|it| it.method == method && matches_template(&it.template, path))
            .collect();
        // A literal path wins over one with parameters.
        fitting.sort_by_key(|it| it.template.matches('{').count());
        fitting.into_iter().next()
    }

    fn faults(&self, method: &str, path: &str, answer: &Answer) -> Vec<String> {
        let Some(call) = self.call(method, path) else {
            return Vec::new();
        };
        if method == "HEAD" && call.template.starts_with("/admin/") {
            // An operator path without the method answers 405.
            return Vec::new();
        }
        let status = answer.status.to_string();
        let Some(response) = call.operation["responses"].get(&status) else {
            return vec![format!(
                "status {status} of {}",
                call.operation["operationId"]
            )];
        };
        let response = resolve_ref(call.document, response);
        let mut faults = headers(call.document, response, answer);
        if method != "HEAD" {
            faults.extend(self.body(&call, &status, response, answer));
        }
        faults
    }

    fn body(
        &self,
        call: &DescribedOperation<'_>,
        status: &str,
        response: &Value,
        answer: &Answer,
    ) -> Vec<String> {
        let media = answer.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default();
        let Some(content) = response.get("content") else {
            let is_empty = answer.body.is_empty();
            return if is_empty {
                Vec::new()
            } else {
                vec!["a body where there should be none".into()]
            };
        };
        let Some(described) = content.get(media) else {
            return vec![format!("the media type {media:?}")];
        };
        if media != "application/json" && !media.ends_with("+json") {
            return Vec::new();
        }
        let name = format!("{} {} {status}", call.method, call.template);
        let validator = self.validator(&name, call.document, &described["schema"]);
        let body = answer.json();
        validator
            .iter_errors(&body)
            .map(|it| format!("{} at {}", it, it.instance_path()))
            .collect()
    }

    fn validator(&self, name: &str, document: &Value, schema: &Value) -> Arc<Validator> {
        let mut known = self.validators.lock().unwrap();
        let made = known
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(validator(document, schema)));
        Arc::clone(made)
    }
}

/// Compiles a schema of a document, formats included.
pub fn validator(document: &Value, schema: &Value) -> Validator {
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": {"schemas": document["components"]["schemas"]},
        "allOf": [schema],
    });
    jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// Follows a `$ref`.
pub fn resolve_ref<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(place) => document
            .pointer(place.trim_start_matches('#'))
            .unwrap_or(&Value::Null),
        None => value,
    }
}

fn headers(document: &Value, response: &Value, answer: &Answer) -> Vec<String> {
    static NONE: LazyLock<serde_json::Map<String, Value>> = LazyLock::new(Default::default);
    let described = response["headers"].as_object().unwrap_or(&NONE);
    let mut faults = Vec::new();
    for (name, value) in &answer.headers {
        let known = described
            .iter()
            .find(|(it, _)| it.eq_ignore_ascii_case(name));
        match known {
            Some((_, header)) => {
                let words = resolve_ref(document, header)["schema"]["enum"].as_array();
                if words.is_some_and(|words| !words.contains(&value.as_str().into())) {
                    faults.push(format!("the header {name}: {value}"));
                }
            }
            None if TRANSPORT_HEADERS.contains(&name.as_str()) => {}
            None => faults.push(format!("the header {name}")),
        }
    }
    for (name, header) in described {
        let required = resolve_ref(document, header)["required"] == true;
        if required
            && !answer
                .headers
                .iter()
                .any(|(it, _)| it.eq_ignore_ascii_case(name))
        {
            faults.push(format!("no header {name}"));
        }
    }
    faults
}

fn matches_template(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted.starts_with('{') => {
                if given.is_empty() {
                    return false;
                }
            }
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return false,
        }
    }
}
