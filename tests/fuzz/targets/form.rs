//! A multipart form, sent to the real service: the first line is its media type, the rest the body. Every answer must be one
//! that the interface documents, never a 5xx.

use crate::support::{Customer, Server};
use std::sync::LazyLock;

static SERVICE: LazyLock<(Server, Customer)> = LazyLock::new(|| {
    let server = Server::start();
    let customer = server.customer("999999999.00");
    (server, customer)
});

pub fn run(input: &[u8]) {
    let (server, customer) = &*SERVICE;
    let end = input.iter().position(|byte| *byte == b'\n');
    let (media_type, body) = input.split_at(end.map_or(0, |at| at + 1));
    let media_type: String = String::from_utf8_lossy(media_type)
        .chars()
        .filter(|c| c.is_ascii() && !c.is_ascii_control())
        .collect();
    let answer = server
        .post("/v1/images/edits")
        .bearer(&customer.key)
        .bytes(&media_type, body)
        .send();
    assert!(answer.status < 500, "{}: {}", answer.status, answer.text());
    if answer.status != 200 {
        let body = answer.json();
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "{body}");
        assert!(message.len() < 4_096);
    }
}
