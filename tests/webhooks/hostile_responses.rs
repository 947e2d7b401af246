//! Receivers with every kind of wrong answer (98, 99, 101): each attempt fails with the right error, and the next one follows.

use crate::helpers::{options, server};
use crate::receiver::{Receiver, Reply, response};
use crate::support::{Options, Origin, Server};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tintype_postgres::testing::free_port;

fn impatient() -> Options {
    options().set("webhooks.attempt_timeout_seconds", 1)
}

/// For a receiver whose first bytes must arrive within the timeout, on a busy machine too.
fn less_impatient() -> Options {
    options().set("webhooks.attempt_timeout_seconds", 3)
}

/// Waits for the only recorded attempt at this URL.
fn attempt_at(server: &Server, url: &str) -> (Value, Value) {
    let customer = server.customer("1.00");
    server.webhook(&customer, url);
    let job = server.create(&customer);
    let delivery = server.delivery_after(&job, 1);
    (delivery["attempts"][0].clone(), delivery)
}

/// Checks that the attempt failed with this message and that a retry is scheduled.
#[track_caller]
fn assert_failed(attempted: &(Value, Value), status: Option<u16>, words: &str) {
    let (attempt, delivery) = attempted;
    assert_eq!(attempt["status_code"], json!(status), "{attempt}");
    let error = attempt["error"].as_str().unwrap_or_default();
    assert!(error.contains(words), "{attempt}");
    assert!(!error.contains("127.0.0.1"), "{attempt}");
    assert_eq!(delivery["status"], "pending");
    assert!(delivery["next_attempt_at"].is_string());
}

#[test]
fn hostile_98_a_refused_connection_fails_the_attempt() {
    let server = server();
    let attempted = attempt_at(&server, &format!("http://127.0.0.1:{}/", free_port()));
    assert_failed(&attempted, None, "connection refused");
    assert_eq!(attempted.0["response_body"], "");
}

#[test]
fn hostile_98_a_receiver_that_never_accepts_a_connection_times_out() {
    // The listen backlog is full, so the handshake of another connection gets no answer.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket
        .bind(
            &"127.0.0.1:0"
                .parse::<std::net::SocketAddr>()
                .unwrap()
                .into(),
        )
        .unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let limit = Duration::from_millis(200);
    let mut waiting = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, limit) {
        waiting.push(stream);
        assert!(waiting.len() < 64, "the backlog is never full");
    }
    let server = Server::with(impatient());
    let attempted = attempt_at(&server, &format!("http://{address}/"));
    assert_failed(&attempted, None, "no complete response within 1 s");
}

#[test]
fn hostile_98_a_receiver_that_never_responds_times_out() {
    let (server, receiver) = (Server::with(impatient()), Receiver::always(Reply::Silence));
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_failed(&attempted, None, "no complete response within 1 s");
    assert!(attempted.0["duration_ms"].as_u64().unwrap() >= 1_000);
}

#[test]
fn hostile_98_a_100_continue_without_a_final_response_times_out() {
    let begun = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
    let (server, receiver) = (
        Server::with(impatient()),
        Receiver::always(Reply::Begin(begun)),
    );
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_failed(&attempted, None, "no complete response within 1 s");
}

#[test]
fn hostile_98_interim_answers_are_not_the_answer() {
    let server = server();
    for interim in ["100 Continue", "102 Processing", "103 Early Hints"] {
        let begun = format!("HTTP/1.1 {interim}\r\n\r\n").into_bytes();
        let whole = [begun, response(200, "", b"thanks")].concat();
        let receiver = Receiver::always(Reply::Raw(whole));
        let (attempt, delivery) = attempt_at(&server, &receiver.url("/"));
        assert_eq!(delivery["status"], "delivered", "{interim}: {delivery}");
        assert_eq!(attempt["status_code"], 200);
        assert_eq!(attempt["response_body"], "thanks");
        receiver.once(1);
    }
}

#[test]
fn an_answer_that_ends_with_its_connection_keeps_its_text() {
    let bytes = b"HTTP/1.1 500 Oh\r\n\r\nthe queue is full".to_vec();
    let receiver = Receiver::always(Reply::Raw(bytes));
    let (attempt, _) = attempt_at(&server(), &receiver.url("/"));
    assert_eq!(attempt["status_code"], 500);
    assert_eq!(attempt["response_body"], "the queue is full");
}

#[test]
fn hostile_98_a_response_sent_byte_by_byte_times_out() {
    let drip = Reply::Handler(Arc::new(|stream| {
        for byte in response(200, "", &[b'x'; 500]) {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }));
    let (server, receiver) = (Server::with(impatient()), Receiver::always(drip));
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_failed(&attempted, None, "no complete response within 1 s");
}

#[test]
fn hostile_98_a_2xx_whose_body_stalls_is_a_success() {
    let server = Server::with(less_impatient());
    for status in [200, 299] {
        let begun = format!("HTTP/1.1 {status} x\r\nContent-Length: 100\r\n\r\nhalf of it");
        let receiver = Receiver::always(Reply::Begin(begun.into_bytes()));
        let (attempt, delivery) = attempt_at(&server, &receiver.url("/"));
        assert_eq!(delivery["status"], "delivered", "{delivery}");
        assert!(delivery["next_attempt_at"].is_null(), "{delivery}");
        assert_eq!(attempt["status_code"], status);
        assert!(attempt["error"].is_null(), "{attempt}");
        assert_eq!(attempt["response_body"], "half of it");
        receiver.once(1);
    }
}

#[test]
fn hostile_98_a_failure_whose_body_stalls_is_a_time_out() {
    let begun = b"HTTP/1.1 500 Oh\r\nContent-Length: 100\r\n\r\nhalf of it".to_vec();
    let (server, receiver) = (
        Server::with(less_impatient()),
        Receiver::always(Reply::Begin(begun)),
    );
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_failed(&attempted, Some(500), "no complete response within 3 s");
    assert_eq!(attempted.0["response_body"], "half of it");
}

#[test]
fn hostile_98_headers_that_stall_after_a_2xx_status_line_are_a_time_out() {
    let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n".to_vec();
    let (server, receiver) = (
        Server::with(impatient()),
        Receiver::always(Reply::Begin(begun)),
    );
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_failed(&attempted, None, "no complete response within 1 s");
}

#[test]
fn hostile_98_a_request_without_a_response_is_sent_once_even_over_a_reused_connection() {
    let receiver = Receiver::deciding(|number, _| match number {
        0 => Reply::Full(200, "text/plain", Vec::new()),
        // Reads the whole request and closes the connection without an answer.
        1 => Reply::Raw(Vec::new()),
        _ => Reply::Status(200),
    });
    let server = server();
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let first = server.create(&customer);
    server.delivery_in(&first, "delivered");
    let second = server.create(&customer);
    let delivery = server.delivery_after(&second, 1);
    let attempted = (delivery["attempts"][0].clone(), delivery);
    assert_failed(&attempted, None, "its host");
    receiver.once(2);
    server.pass(Duration::from_secs(61));
    server.delivery_in(&second, "delivered");
    let received = receiver.once(3);
    assert_eq!(
        received[1].only_header("webhook-id"),
        received[2].only_header("webhook-id")
    );
}

#[test]
fn hostile_98_a_status_counts_even_if_its_body_breaks_off() {
    for rest in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        for (status, wanted) in [(200, "delivered"), (500, "pending")] {
            let begun = format!("HTTP/1.1 {status} x\r\n{rest}\r\n\r\n5\r\nhalf ");
            let receiver = Receiver::always(Reply::Raw(begun.into_bytes()));
            let (attempt, delivery) = attempt_at(&server(), &receiver.url("/"));
            assert_eq!(attempt["status_code"], status, "{attempt}");
            assert!(attempt["error"].is_null(), "{attempt}");
            assert_eq!(delivery["status"], wanted, "{delivery}");
        }
    }
}

#[test]
fn hostile_98_a_200_with_a_body_without_end_is_a_success() {
    // Tintype reads 64 KiB and closes the connection: the status already says that the receiver has the delivery.
    let endless = Reply::Handler(Arc::new(|stream| {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = [b"1000\r\n".as_slice(), &[b'x'; 4096], b"\r\n"].concat();
        let mut is_open = stream.write_all(head).is_ok();
        while is_open {
            is_open = stream.write_all(&chunk).is_ok();
        }
    }));
    let (server, receiver) = (server(), Receiver::always(endless));
    let (attempt, delivery) = attempt_at(&server, &receiver.url("/"));
    assert_eq!(delivery["status"], "delivered", "{delivery}");
    assert_eq!(attempt["status_code"], 200);
    assert_eq!(attempt["response_body"], "x".repeat(1_024));
    crate::support::until("the connection is closed", || receiver.open() == 0);
}

#[test]
fn hostile_99_a_receiver_that_closes_before_the_end_of_the_body_fails_the_attempt() {
    // The receiver reads the head and a part of the body, and resets the connection.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 4_096]).unwrap();
        let linger = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        linger.unwrap();
    });
    let server = server();
    let customer = server.customer("1.00");
    server.webhook(&customer, &url);
    let metadata = json!({"text": "\u{e9}".repeat(8_000)});
    let job = server.create_with(&customer, json!({ "metadata": metadata }));
    let delivery = server.delivery_after(&job, 1);
    assert_failed(
        &(delivery["attempts"][0].clone(), delivery),
        None,
        "closed the connection early",
    );
}

#[test]
fn answers_that_are_not_http() {
    let server = server();
    for text in [
        "",
        "HTTP/1.1 abc\r\n\r\n",
        "220 mail.example ESMTP\r\n",
        "\0\0\0\0",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
    ] {
        let receiver = Receiver::always(Reply::Raw(text.as_bytes().to_vec()));
        let attempted = attempt_at(&server, &receiver.url("/"));
        assert_failed(
            &attempted,
            None,
            "closed the connection early or did not send valid HTTP",
        );
    }
}

#[test]
fn an_endless_response_head_is_a_failure() {
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &[b'x'; 1_000_000]].concat();
    let (server, receiver) = (
        Server::with(impatient()),
        Receiver::always(Reply::Begin(endless)),
    );
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_failed(&attempted, None, "");
}

#[test]
fn hostile_101_no_tls_where_tls_is_expected() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let plain = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(&response(400, "", b"speak plainly"));
        let mut heard = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut heard);
        String::from_utf8_lossy(&heard).into_owned()
    });
    let attempted = attempt_at(&server(), &format!("https://{address}/"));
    assert_failed(
        &attempted,
        None,
        "a secure connection to its host could not be made",
    );
    let heard = plain.join().unwrap();
    assert!(!heard.contains("job_id"), "nothing was sent in the clear");
}

#[test]
fn a_redirect_to_a_private_address_is_not_followed() {
    let trap = Origin::trap();
    // Only 127.0.0.1 is allowed: the receiver's address, but not the redirect's target.
    let elsewhere = format!("Location: http://127.0.0.2:{}/\r\n", trap.port());
    let receiver = Receiver::always(Reply::Raw(response(302, &elsewhere, b"")));
    let server = Server::with(Options::new().set("egress.allow", vec!["127.0.0.1/32"]));
    let attempted = attempt_at(&server, &receiver.url("/"));
    assert_eq!(attempted.0["status_code"], 302);
    assert_eq!(attempted.1["status"], "pending");
    assert_eq!(trap.accepted(), 0);
}

#[test]
fn hostile_102_a_receiver_that_calls_the_interface_back_in_its_handler() {
    use parking_lot::Mutex;
    let seen = Arc::new(Mutex::new(None));
    let (server, noted) = (server(), Arc::clone(&seen));
    let customer = server.customer("1.00");
    let (address, key) = (server.address, customer.key.clone());
    let receiver = Receiver::deciding(move |_, delivery| {
        let job = delivery.json()["job_id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/jobs/{job}");
        let found = crate::support::http::Request::new(address, "GET", &path)
            .bearer(&key)
            .expect(200);
        *noted.lock() = Some(found.json());
        Reply::Status(200)
    });
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    server.delivery_in(&job, "delivered");
    let seen = seen.lock().clone().unwrap();
    assert_eq!(seen["status"], "done", "stored, then spoken");
    assert_eq!(seen["job_id"], job.as_str());
}

#[test]
fn the_stored_part_of_a_response_is_limited_valid_text() {
    let server = server();
    let kept = |status, body: &[u8]| {
        let receiver = Receiver::always(Reply::Raw(response(status, "", body)));
        let (attempt, _) = attempt_at(&server, &receiver.url("/"));
        assert_eq!(attempt["status_code"], status);
        assert!(attempt["error"].is_null(), "{attempt}");
        assert!(attempt["duration_ms"].is_u64(), "{attempt}");
        crate::helpers::millis(&attempt["at"]);
        attempt["response_body"].as_str().unwrap().to_owned()
    };
    assert_eq!(kept(200, b"thanks"), "thanks");
    assert_eq!(kept(500, b""), "");
    assert_eq!(kept(500, &[b'x'; 1_025]), "x".repeat(1_024));
    // The cut removes a character that it would split.
    let text = format!("x{}", "\u{e9}".repeat(600));
    assert_eq!(
        kept(200, text.as_bytes()),
        format!("x{}", "\u{e9}".repeat(511))
    );
    assert_eq!(kept(200, b"a\xff\0b"), "a\u{fffd}\0b");
}
