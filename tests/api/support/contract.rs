//! Holds what the service answers against the documents that it publishes: every answer that a test of any area gets from
//! [`super::http::Request`] must be described, in status, headers and body.

use super::http::Answer;
use super::options::ADMIN_TOKEN;
use super::raw::Wire;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// Where the documents are, and what their own paths begin with.
const PLACES: [&str; 2] = ["/api/v1/openapi.json", "/admin/v1/openapi.json"];
/// What the paths begin with that they cover.
const COVERED: [&str; 6] = [
    "/api/v1/",
    "/admin/v1/",
    "/files/results/",
    "/healthz",
    "/readyz",
    "/metrics",
];
/// What belongs to the transport, and is the same on every answer of any server.
const TRANSPORT: [&str; 5] = [
    "content-length",
    "content-type",
    "transfer-encoding",
    "date",
    "connection",
];

/// The documents of a server.
pub struct Contract {
    documents: [Value; 2],
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// A call in a document.
pub struct Described<'a> {
    /// The document that it stands in.
    pub document: &'a Value,
    /// Its path, with the names of parameters.
    pub template: String,
    /// Its method, in lower case.
    pub method: String,
    /// The call.
    pub operation: &'a Value,
}

static PUBLISHED: OnceLock<Contract> = OnceLock::new();

/// Demands that an answer is as the documents say. What they do not cover is left alone: other paths, and methods that a path
/// does not have.
#[track_caller]
pub fn hold(to: SocketAddr, method: &str, target: &str, answer: &Answer) {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    // What is no well-formed HTTP is turned away below everything that has a name.
    if answer.status == 400 && answer.body.is_empty() {
        return;
    }
    if !COVERED.iter().any(|it| path.starts_with(it)) {
        return;
    }
    let Some(contract) = published(to) else {
        return;
    };
    let mut faults = contract.faults(method, path, answer);
    // A server with settings of its own is held against its own documents, and an address that has none is no such server.
    if !faults.is_empty() && answer.status < 500 {
        let own = contract.as_told_by(to);
        faults = own.map_or_else(Vec::new, |it| it.faults(method, path, answer));
    }
    assert!(
        faults.is_empty(),
        "{method} {target} is not as documented: {}\n{}",
        faults.join("; "),
        answer.text()
    );
}

/// The documents of the first server of this process that would tell them.
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
    /// Fetches the documents of a server; `None` when it does not tell them now.
    pub fn of(to: SocketAddr) -> Option<Self> {
        Some(Self {
            documents: [fetch(to, PLACES[0])?, fetch(to, PLACES[1])?],
            validators: Mutex::default(),
        })
    }

    /// The same with what another server tells clients. Its operator's document may need another token.
    fn as_told_by(&self, to: SocketAddr) -> Option<Self> {
        let [_, operator] = &self.documents;
        Some(Self {
            documents: [fetch(to, PLACES[0])?, operator.clone()],
            validators: Mutex::default(),
        })
    }

    /// The documents: for clients, and for the operator.
    pub fn documents(&self) -> &[Value; 2] {
        &self.documents
    }

    /// Every call of both documents.
    pub fn calls(&self) -> Vec<Described<'_>> {
        let mut calls = Vec::new();
        for document in &self.documents {
            for (template, item) in document["paths"].as_object().unwrap() {
                for (method, operation) in item.as_object().unwrap() {
                    calls.push(Described {
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

    /// The call that a request makes; `HEAD` is the `GET` without its body.
    pub fn call(&self, method: &str, path: &str) -> Option<Described<'_>> {
        // Methods are told apart by case (RFC 9110, section 9.1): `post` is none that is known.
        let method = match method {
            "HEAD" => "get".to_owned(),
            known if known == known.to_ascii_uppercase() => known.to_ascii_lowercase(),
            _ => return None,
        };
        let mut fitting: Vec<_> = self
            .calls()
            .into_iter()
            .filter(|it| it.method == method && fits(&it.template, path))
            .collect();
        // A path that is written out goes before one with parameters.
        fitting.sort_by_key(|it| it.template.matches('{').count());
        fitting.into_iter().next()
    }

    fn faults(&self, method: &str, path: &str, answer: &Answer) -> Vec<String> {
        let Some(call) = self.call(method, path) else {
            return Vec::new();
        };
        if method == "HEAD" && call.template.starts_with("/admin/") {
            // The operator's paths have none: 405.
            return Vec::new();
        }
        let status = answer.status.to_string();
        let Some(response) = call.operation["responses"].get(&status) else {
            return vec![format!(
                "status {status} of {}",
                call.operation["operationId"]
            )];
        };
        let response = resolved(call.document, response);
        let mut faults = headers(call.document, response, answer);
        if method != "HEAD" {
            faults.extend(self.body(&call, &status, response, answer));
        }
        faults
    }

    fn body(
        &self,
        call: &Described<'_>,
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

/// Checks values against a schema of a document, formats included.
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

/// What a reference leads to.
pub fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
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
                let words = resolved(document, header)["schema"]["enum"].as_array();
                if words.is_some_and(|words| !words.contains(&value.as_str().into())) {
                    faults.push(format!("the header {name}: {value}"));
                }
            }
            None if TRANSPORT.contains(&name.as_str()) => {}
            None => faults.push(format!("the header {name}")),
        }
    }
    for (name, header) in described {
        let required = resolved(document, header)["required"] == true;
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

fn fits(template: &str, path: &str) -> bool {
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
