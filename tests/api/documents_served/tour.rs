//! Makes the documented calls and records their answers.

use crate::support::contract::{Contract, DescribedOperation, resolve_ref};
use crate::support::http::{Answer, Request};
use crate::support::{Customer, Server, merge};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Answers that occurred or are documented: `GET /path status-or-code`.
pub type Outcomes = BTreeSet<String>;

/// A server, its documents, and the answers recorded so far.
pub struct Tour<'a> {
    pub server: &'a Server,
    pub contract: &'a Contract,
    pub seen: &'a mut Outcomes,
    /// The values of path parameters.
    pub ids: BTreeMap<&'static str, String>,
    pub customer: Customer,
    pub images: String,
}

impl Tour<'_> {
    pub fn record(&mut self, request: &Request, answer: &Answer) {
        let path = request.target().split('?').next().unwrap();
        if let Some(call) = self.contract.call(request.method(), path) {
            self.seen.insert(describe(&call, &outcome(answer)));
        }
    }

    pub fn send(&mut self, request: Request) -> Answer {
        let answer = request.send();
        self.record(&request, &answer);
        answer
    }

    /// Sends the request and asserts this code or status.
    #[track_caller]
    pub fn assert_answer(&mut self, request: Request, wanted: &str) -> Answer {
        let answer = self.send(request.clone());
        assert_eq!(
            outcome(&answer),
            wanted,
            "{} {}: {}",
            request.method(),
            request.target(),
            answer.text()
        );
        answer
    }

    pub fn path(&self, template: &str, stranger: bool) -> String {
        let mut path = template.to_owned();
        for (name, id) in &self.ids {
            let id = if stranger {
                Uuid::new_v4().to_string()
            } else {
                id.clone()
            };
            path = path.replace(&format!("{{{name}}}"), &id);
        }
        path
    }

    /// A call without credentials, with its first example as the body.
    pub fn without_credentials(&self, call: &DescribedOperation<'_>, stranger: bool) -> Request {
        let request = self.server.call(
            &call.method.to_ascii_uppercase(),
            &self.path(&call.template, stranger),
        );
        match self.example(call) {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    pub fn example(&self, call: &DescribedOperation<'_>) -> Option<Value> {
        let examples = &call.operation["requestBody"]["content"]["application/json"]["examples"];
        let mut body = examples.as_object()?.values().next()?["value"].clone();
        if body.get("input_images_urls").is_some() {
            merge(&mut body, json!({"input_images_urls": [self.images]}));
        }
        // Deliveries of these tests go nowhere.
        if body.get("url").is_some() {
            merge(
                &mut body,
                json!({"url": format!("https://example.com/{}", Uuid::new_v4())}),
            );
        }
        Some(body)
    }

    pub fn with(&self, call: &DescribedOperation<'_>, request: Request, key: &str) -> Request {
        match access_of(call) {
            Access::Client => request.bearer(key),
            Access::Operator => request.bearer(crate::support::options::ADMIN_TOKEN),
            Access::Anyone => request,
        }
    }

    pub fn valid_request(&self, call: &DescribedOperation<'_>) -> Request {
        self.with(
            call,
            self.without_credentials(call, false),
            &self.customer.key,
        )
    }
}

#[derive(PartialEq)]
pub enum Access {
    Anyone,
    Client,
    Operator,
}

pub fn access_of(call: &DescribedOperation<'_>) -> Access {
    let schemes = call.operation["security"].as_array().unwrap();
    match schemes.first().and_then(|it| it.as_object()?.keys().next()) {
        None => Access::Anyone,
        Some(name) if name == "apiKey" => Access::Client,
        Some(_) => Access::Operator,
    }
}

pub fn lists_code(call: &DescribedOperation<'_>, word: &str) -> bool {
    let responses = call.operation["responses"].as_object().unwrap();
    responses.values().any(|it| {
        let schema =
            &resolve_ref(call.document, it)["content"]["application/problem+json"]["schema"];
        let codes = schema["properties"]["code"]["enum"].as_array();
        codes.is_some_and(|codes| codes.contains(&word.into()))
    })
}

pub fn describe(call: &DescribedOperation<'_>, word: &str) -> String {
    format!(
        "{} {} {word}",
        call.method.to_ascii_uppercase(),
        call.template
    )
}

/// The code of an error, or the status of any other answer.
pub fn outcome(answer: &Answer) -> String {
    if answer.status < 400 {
        return answer.status.to_string();
    }
    answer.json()["code"].as_str().unwrap().to_owned()
}
