//! Hostile HTTP, 1 to 8: malformed requests.

use crate::support::raw::Wire;
use crate::support::{Answer, Customer, Options, Server, fox};

/// Sends bytes, ends the sending side, and returns all answers. Panics on a 5xx and on an accepted job.
fn exchange(server: &Server, bytes: &[u8]) -> Vec<Answer> {
    let mut wire = Wire::open(server.address);
    wire.send(bytes);
    wire.finish();
    wire.answers()
}

/// Asserts that the server rejects the bytes with a 4xx or closes, and answers nothing after them.
#[track_caller]
fn assert_rejected(server: &Server, bytes: &[u8]) {
    let statuses: Vec<u16> = exchange(server, bytes).iter().map(|it| it.status).collect();
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    assert!(statuses.len() <= 1, "{statuses:?} to {shown}");
    assert!(
        statuses.iter().all(|it| (400..500).contains(it)),
        "{statuses:?} to {shown}"
    );
}

/// The head of a creation without the headers that frame its body and without the blank line.
fn head(customer: &Customer) -> String {
    format!(
        "POST /api/v1/text-generations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\n",
        customer.key
    )
}

/// A valid request to smuggle behind another.
const SMUGGLED: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn hostile_01_no_host_and_two_hosts() {
    let server = Server::start();
    assert_rejected(&server, b"GET /healthz HTTP/1.1\r\n\r\n");
    assert_rejected(
        &server,
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    );
    assert_rejected(
        &server,
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    );
    server.assert_well();
}

#[test]
fn hostile_02_contradicting_framing() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let body = fox().to_string();
    let length = body.len();
    for framing in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: {length}\r\nContent-Length: 0\r\n"),
        format!("Content-Length: {length}, 0\r\n"),
        "Transfer-Encoding: xchunked\r\n".into(),
        "Transfer-Encoding: chunked, identity\r\n".into(),
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n".into(),
        format!("Content-Length: +{length}\r\n"),
        "Content-Length: 0x10\r\n".into(),
        "Content-Length: -1\r\n".into(),
        "Content-Length: 18446744073709551616\r\n".into(),
        "Content-Length: \r\n".into(),
        format!("Content-Length : {length}\r\n"),
        "Transfer-Encoding:\u{b}chunked\r\n".into(),
    ] {
        let bytes = format!("{}{framing}\r\n{body}{SMUGGLED}", head(&customer));
        assert_rejected(&server, bytes.as_bytes());
        let bytes = format!("{}{framing}\r\n0\r\n\r\n{SMUGGLED}", head(&customer));
        assert_rejected(&server, bytes.as_bytes());
    }
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    server.assert_well();
}

#[test]
fn hostile_03_chunk_sizes() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let body = fox().to_string();
    for size in [
        "",
        "-1",
        "10000000000000000",
        "ffffffffffffffff",
        "0x10",
        " 10",
        "10 10",
        "g",
    ] {
        let bytes = format!(
            "{}Transfer-Encoding: chunked\r\n\r\n{size}\r\n{body}\r\n0\r\n\r\n",
            head(&customer)
        );
        assert_rejected(&server, bytes.as_bytes());
    }
    for end in ["0\r\n", "0", "", "0\r\nX: y\r\n"] {
        let (size, head) = (body.len(), head(&customer));
        let bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n{end}");
        assert_rejected(&server, bytes.as_bytes());
    }
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    // The server skips a chunk extension of any length.
    let extension = "x".repeat(1_048_576);
    let (size, head) = (body.len(), head(&customer));
    let bytes = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{size:x};{extension}\r\n{body}\r\n0\r\n\r\n"
    );
    let statuses: Vec<u16> = exchange(&server, bytes.as_bytes())
        .iter()
        .map(|it| it.status)
        .collect();
    assert!(
        statuses.is_empty() || statuses == [202] || statuses == [400],
        "{statuses:?}"
    );
    server.assert_well();
}

#[test]
fn hostile_04_headers() {
    let server = Server::start();
    let get =
        |headers: &str| format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{headers}\r\n").into_bytes();
    let many: String = (0..97).map(|at| format!("X-{at}: y\r\n")).collect();
    assert_rejected(&server, &get(&many));
    assert_rejected(&server, &get(&format!("X: {}\r\n", "y".repeat(132_096))));
    assert_rejected(&server, &get("X: a\0b\r\n"));
    assert_rejected(&server, &get("X: a\r\n folded\r\n"));
    assert_rejected(&server, &get("X y: a\r\n"));
    assert_rejected(&server, &get(": a\r\n"));
    assert_rejected(&server, &get("no colon\r\n"));
    assert_rejected(&server, b"GET /healthz HTTP/1.1 \r\nHost: a\r\n\r\n");
    assert_rejected(&server, b"GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n");
    assert_rejected(&server, b"GET  /healthz  HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_rejected(&server, b"\r\n\r\n\r\n\0\0\0\0");
    // Some parsers accept a bare LF; the server must not accept a header that a proxy did not see.
    let bare = exchange(&server, b"GET /api/v1/balance HTTP/1.1\nHost: a\nX: y\n\n");
    assert!(bare.iter().all(|it| (400..500).contains(&it.status)));
    server.assert_well();
}

#[test]
fn hostile_05_a_head_that_drips() {
    let server = Server::start();
    let mut wire = Wire::open(server.address);
    wire.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n");
    // No more bytes: the timeout for the head ends, while the server serves other callers.
    server.assert_well();
    let answer = wire.answer_to("GET").map(|it| it.status);
    assert!(answer.is_none_or(|status| status == 408), "{answer:?}");
    assert!(wire.is_closed());
}

#[test]
fn hostile_06_a_body_that_stops_after_half() {
    let server = Server::with(Options::new().set("server.body_timeout_seconds", 1));
    let customer = server.customer("1.00");
    let body = fox().to_string();
    let (half, length) = (&body[..body.len() / 2], body.len());
    for framing in [
        format!("Content-Length: {length}\r\n\r\n{half}"),
        format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{half}"),
    ] {
        let mut wire = Wire::open(server.address);
        wire.send(format!("{}{framing}", head(&customer)).as_bytes());
        let answer = wire.answer_to("POST").unwrap();
        answer.assert_problem(408, "request_timeout");
        assert!(wire.is_closed());
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_well();
}

#[test]
fn hostile_07_a_wrong_content_length_is_rejected() {
    reject_lengths_that_lie(Options::new());
}

#[test]
fn hostile_07_a_wrong_content_length_is_rejected_with_records_in_postgres() {
    if let Some(options) = Options::new().on_postgres() {
        reject_lengths_that_lie(options);
    }
}

fn reject_lengths_that_lie(options: Options) {
    let waits_for_database = options.is_on_postgres();
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let body = fox().to_string();
    let framed = |length: usize| {
        let head = head(&customer);
        format!("{head}Content-Length: {length}\r\n\r\n{body}")
    };
    assert_rejected(&server, framed(body.len() + 1).as_bytes());
    // The body without its brace, and perhaps the brace as a request.
    let shorter = framed(body.len() - 1);
    let (request, brace) = shorter.split_at(shorter.len() - 1);
    let mut wire = Wire::open(server.address);
    wire.send(request.as_bytes());
    let rejected = wire.answer_to("POST").unwrap();
    rejected.assert_problem(422, "validation_failed");
    wire.send(brace.as_bytes());
    wire.finish();
    let statuses: Vec<u16> = wire.answers().iter().map(|it| it.status).collect();
    assert!(statuses.is_empty() || statuses == [400], "{statuses:?}");
    // In one piece. While a rejection waits for the database, the service reads the brace and closes.
    let answers = exchange(&server, shorter.as_bytes());
    let statuses: Vec<u16> = answers.iter().map(|it| it.status).collect();
    assert!([422, 400].starts_with(&statuses), "{statuses:?}");
    assert!(waits_for_database || !statuses.is_empty());
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_well();
}

#[test]
fn hostile_08_encoded_bodies_are_never_inflated() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let bomb = vec![0x1f_u8; 200_000];
    for coding in [
        "gzip", "br", "zstd", "deflate", "gzip, br", "GZIP", "x-gzip",
    ] {
        server
            .native(&customer, "POST", "/text-generations")
            .bytes("application/json", &bomb)
            .header("Content-Encoding", coding)
            .refused(415, "unsupported_media_type");
    }
    server
        .native(&customer, "POST", "/text-generations")
        .bytes("application/json", &bomb)
        .header("Content-Encoding", "identity")
        .header("Content-Encoding", "gzip")
        .refused(415, "unsupported_media_type");
    server.assert_well();
}
