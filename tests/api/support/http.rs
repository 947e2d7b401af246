//! A well-behaved client: one request, one connection, one answer, and no header that the test did not set.

use super::contract;
use super::raw::{self, Wire};
use serde_json::Value;
use std::net::SocketAddr;

#[derive(Clone, Debug)]
pub struct Request {
    to: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case, in the order received.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// A request without credentials or body.
    pub fn new(to: SocketAddr, method: &str, target: &str) -> Self {
        Self {
            to,
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub fn idempotent(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    pub fn json(self, body: &Value) -> Self {
        self.text(&body.to_string())
    }

    /// Sets a body with the JSON content type.
    pub fn text(self, body: &str) -> Self {
        self.bytes("application/json", body.as_bytes())
    }

    pub fn bytes(mut self, media_type: &str, body: &[u8]) -> Self {
        self.body = Some(body.to_vec());
        self.header("Content-Type", media_type)
    }

    /// Sets a body without a content type.
    pub fn untyped(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_vec());
        self
    }

    /// The request as bytes.
    pub fn wire(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let mut names = self.headers.iter().map(|(name, _)| name);
        if !names.any(|it| it.eq_ignore_ascii_case("host")) {
            text.push_str(&format!("Host: {}\r\n", self.to));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }

    /// Sends the request on a new connection and reads the answer.
    #[track_caller]
    pub fn send(&self) -> Answer {
        let mut wire = Wire::open(self.to);
        wire.send(&self.clone().header("Connection", "close").wire());
        let answer = wire
            .answer_to(&self.method)
            .unwrap_or_else(|| panic!("no answer to {} {}", self.method, self.target));
        contract::assert_documented(self.to, &self.method, &self.target, &answer);
        answer
    }

    pub fn to(&self) -> SocketAddr {
        self.to
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    /// The request target as written.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Sends the request and asserts the status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Answer {
        let answer = self.send();
        assert_eq!(
            answer.status,
            status,
            "{} {}: {}",
            self.method,
            self.target,
            answer.text()
        );
        answer
    }

    /// Sends the request and asserts a complete error body.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Answer {
        let answer = self.expect(status);
        answer.assert_problem(status, code);
        answer
    }

    /// Sends the request and asserts a 422 that names exactly these fields, in any order.
    #[track_caller]
    pub fn invalid(&self, fields: &[&str]) -> Answer {
        let answer = self.refused(422, "validation_failed");
        let mut named = answer.faulty_fields();
        named.sort();
        let mut wanted: Vec<String> = fields.iter().map(ToString::to_string).collect();
        wanted.sort();
        assert_eq!(named, wanted, "{}", answer.text());
        answer
    }
}

impl Answer {
    /// The value of a header that occurs at most once.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(it, _)| it == name);
        let first = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} occurs twice");
        first
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.text()))
    }

    /// The id of the accepted job.
    #[track_caller]
    pub fn job_id(&self) -> String {
        self.json()["job_id"].as_str().unwrap().to_owned()
    }

    /// The fields that a 422 names, in the order of the answer.
    pub fn faulty_fields(&self) -> Vec<String> {
        let body = self.json();
        let errors = body["errors"].as_array().cloned().unwrap_or_default();
        errors
            .iter()
            .map(|error| {
                let message = error["message"].as_str().unwrap();
                assert!(!message.is_empty());
                error["field"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    /// Asserts the form of every error (RFC 9457 with the members that the service adds).
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) {
        let body = self.json();
        assert_eq!(body["code"], code, "{body}");
        assert_eq!(self.status, status, "{body}");
        assert_eq!(body["status"], status);
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        for member in ["type", "title", "detail", "request_id"] {
            let text = body[member].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{member} of {body}");
        }
        assert_eq!(body["request_id"], self.header("x-request-id").unwrap());
        let retry = self.header("retry-after");
        if [429, 503].contains(&status) {
            let seconds: u64 = retry.expect("Retry-After").parse().unwrap();
            assert!(seconds >= 1);
        } else {
            assert_eq!(retry, None);
        }
        let challenge = (status == 401).then_some("Bearer");
        assert_eq!(self.header("www-authenticate"), challenge);
        let faults = body
            .get("errors")
            .map(|errors| errors.as_array().unwrap().len());
        if code == "validation_failed" {
            assert!(faults.is_some_and(|count| count > 0), "{body}");
        } else if code == "idempotency_key_reused" {
            assert_eq!(self.faulty_fields(), ["Idempotency-Key"], "{body}");
        } else {
            assert_eq!(faults, None, "{body}");
        }
        let allowed = [
            "type",
            "title",
            "status",
            "detail",
            "code",
            "request_id",
            "errors",
        ];
        for name in body.as_object().unwrap().keys() {
            assert!(allowed.contains(&name.as_str()), "unknown member {name}");
        }
    }
}

pub(super) fn parse_head(head: &str) -> (u16, Vec<(String, String)>) {
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap();
    let status = status_line.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        })
        .collect();
    (status, headers)
}

/// Sends several requests at the same moment, each on its own connection, and reads all answers.
pub fn all_at_once(requests: &[Request]) -> Vec<Answer> {
    let begin = |request: &Request| {
        // All but the last byte, so that every request becomes complete at nearly the same moment.
        let bytes = request.wire();
        Wire::begin(request.to, &bytes[..bytes.len() - 1])
    };
    let mut wires: Vec<Wire> = requests.iter().map(begin).collect();
    for (wire, request) in wires.iter_mut().zip(requests) {
        wire.send(&request.wire()[request.wire().len() - 1..]);
    }
    wires
        .iter_mut()
        .zip(requests)
        .map(|(wire, request)| wire.answer_to(&request.method).expect("an answer"))
        .collect()
}

/// A keep-alive connection that sends requests one after the other.
pub struct Session {
    wire: Wire,
}

impl Session {
    pub fn open(to: SocketAddr) -> Self {
        Self {
            wire: raw::Wire::open(to),
        }
    }

    #[track_caller]
    pub fn send(&mut self, request: &Request) -> Answer {
        self.wire.send(&request.wire());
        self.wire.answer_to(&request.method).expect("an answer")
    }
}
