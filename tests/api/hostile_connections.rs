//! Hostile HTTP, 9 to 18: connections, paths and methods.

use crate::support::process::Process;
use crate::support::raw::Wire;
use crate::support::{ENDPOINTS, Server, fox, fox_with, until};
use serde_json::json;
use std::thread;

#[test]
fn hostile_09_expect_100_continue() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox().to_string();
    let head = |length: usize| {
        format!(
            "POST /api/v1/text-generations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n",
            customer.key
        )
    };
    let mut wire = Wire::open(server.address);
    wire.send(head(body.len()).as_bytes());
    assert_eq!(wire.next_answer("POST").unwrap().status, 100);
    wire.send(body.as_bytes());
    assert_eq!(wire.next_answer("POST").unwrap().status, 202);
    // The declared length is too large: the server answers without the body, which never comes.
    let mut wire = Wire::open(server.address);
    wire.send(head(2_000_000).as_bytes());
    wire.answer_to("POST")
        .unwrap()
        .assert_problem(413, "payload_too_large");
    server.assert_well();
}

#[test]
fn hostile_10_pipelined_requests_half_of_them_bad() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let mut wire = Wire::open(server.address);
    let mut bytes = Vec::new();
    for at in 0..32 {
        let call = match at % 4 {
            0 => server.generation(&customer, "/text-generations", &fox()),
            1 => server
                .native(&customer, "POST", "/text-generations")
                .text("{"),
            2 => server.native(&customer, "GET", "/balance"),
            _ => server.get("/api/v1/nothing"),
        };
        bytes.extend(call.header("X-Request-Id", &format!("r{at}")).wire());
    }
    wire.send(&bytes);
    for at in 0..32 {
        let answer = wire.answer_to("POST").unwrap();
        assert_eq!(
            answer.header("x-request-id"),
            Some(format!("r{at}").as_str())
        );
        assert_eq!(answer.status, [202, 422, 200, 401][at % 4]);
    }
    assert_eq!(server.assert_settled().ended_jobs, 8);
    server.assert_well();
}

#[test]
fn hostile_11_idle_and_half_open_connections() {
    let server = Server::start();
    let idle: Vec<Wire> = (0..300).map(|_| Wire::open(server.address)).collect();
    let half_open: Vec<Wire> = (0..100)
        .map(|_| {
            let mut wire = Wire::open(server.address);
            wire.send(b"POST /api/v1/text-generations HTTP/1.1\r\nHo");
            wire
        })
        .collect();
    server.assert_well();
    drop((idle, half_open));
    server.assert_well();
}

#[test]
fn hostile_12_paths() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let long = format!("/api/v1/jobs/{}", "a".repeat(8_192));
    let deep = format!("/api/v1{}", "/a".repeat(4_000));
    for path in [
        "//",
        "//api/v1/balance",
        "/api//v1/balance",
        "/api/v1//balance",
        "/./api/v1/balance",
        "/api/v1/./balance",
        "/api/v1/../v1/balance",
        "/api/v1/%2e%2e/v1/balance",
        "/api/v1/%2e/balance",
        "/api/v1/balance%00",
        "/api/v1/%ff",
        "/api/v1/%zz",
        "/api/v1/%",
        "/api/v1/jobs/a%2Fb",
        "/api/v1/jobs/%2e%2e%2fbalance",
        "/api/v1/jobs/%00",
        "/api/v1/jobs/%ff%fe",
        "/api/v1/balance;x=1",
        "/API/V1/balance",
        "/api/v1/Balance",
        "/files/../admin-token",
        "/files/%2e%2e/admin-token",
        "/files/..%2fadmin-token",
        "/files//etc/passwd",
        &long,
        &deep,
    ] {
        let answer = server.get(path).bearer(&customer.key).send();
        assert!(
            [403, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
        let code = if answer.status == 403 {
            "invalid_signature"
        } else {
            "not_found"
        };
        answer.assert_problem(answer.status, code);
    }
    // Request targets that are not paths.
    for target in [
        "*",
        "api/v1/balance",
        "http://other/api/v1/nothing",
        "other:80",
        "/a b",
        "/\u{e9}",
        "?x",
        "#",
    ] {
        let mut wire = Wire::open(server.address);
        wire.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        wire.finish();
        for answer in wire.answers() {
            assert!(
                (400..500).contains(&answer.status),
                "{target}: {}",
                answer.status
            );
        }
    }
    server.assert_well();
}

#[test]
fn hostile_13_methods() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (path, ..) in ENDPOINTS {
        for method in [
            "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PUT", "post", "X",
        ] {
            let answer = server.native(&customer, method, path).expect(405);
            assert_eq!(answer.header("allow"), Some("POST"));
        }
    }
    for method in ["CONNECT", "", "P\0ST", "P(ST", &"M".repeat(70_000)] {
        let mut wire = Wire::open(server.address);
        wire.send(format!("{method} /api/v1/balance HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        wire.finish();
        let answers = wire.answers();
        assert!(
            answers.iter().all(|it| (400..500).contains(&it.status)),
            "{method}"
        );
    }
    server.assert_well();
}

#[test]
fn hostile_14_content_types() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (path, ..) in ENDPOINTS {
        for kind in [
            "text/json",
            "application/json; charset=utf-16",
            "multipart/form-data; boundary=b",
            "application/",
            "\u{1f}",
        ] {
            let call = server.native(&customer, "POST", path);
            let answer = call.bytes(kind, fox().to_string().as_bytes()).send();
            // The last one is not a valid header value.
            assert!([400, 415].contains(&answer.status), "{kind:?}");
        }
        server
            .native(&customer, "POST", path)
            .untyped(b"{}")
            .refused(415, "unsupported_media_type");
    }
    server.assert_well();
}

#[test]
fn hostile_15_a_client_that_continues_to_send_after_413_is_disconnected() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let head = |framing: &str| {
        format!(
            "POST /api/v1/text-generations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n{framing}\r\n\r\n",
            customer.key
        )
    };
    let blanks = vec![b' '; 65_536];
    let mut declared = Wire::open(server.address);
    declared.send(head("Content-Length: 1000000000").as_bytes());
    declared
        .answer_to("POST")
        .unwrap()
        .assert_problem(413, "payload_too_large");
    let mut chunked = Wire::open(server.address);
    chunked.send(head("Transfer-Encoding: chunked").as_bytes());
    for wire in [&mut declared, &mut chunked] {
        // The server discards the rest for a moment, so that a reset does not swallow the answer, and then reads no more.
        until("the server hangs up", || {
            !(wire.try_send(b"10000\r\n") && wire.try_send(&blanks) && wire.try_send(b"\r\n"))
        });
    }
    // The server does not wait for the body of a call that it rejects for another reason either.
    for refused in ["/api/v1/nothing", "/api/v1/balance"] {
        let mut wire = Wire::open(server.address);
        let head = format!(
            "POST {refused} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"
        );
        wire.send(head.as_bytes());
        assert_eq!(wire.answer_to("POST").unwrap().status, 401);
        assert!(wire.is_closed());
    }
    server.assert_well();
    // A server that is stopping, or that has lost its database, does not wait either: both reject a call before they read it.
    server.inside().fail_stop.trip("a test");
    let mut wire = Wire::open(server.address);
    wire.send(head("Transfer-Encoding: chunked").as_bytes());
    wire.send(b"5\r\nhe");
    assert_eq!(wire.answer_to("POST").unwrap().status, 503);
    assert!(wire.is_closed());
}

#[test]
fn hostile_16_other_protocols_on_the_plain_port() {
    let server = Server::start();
    let upgrade = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                    HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n";
    // The server ignores an upgrade offer. A caller that keeps its connections learns not to send another request on this one.
    for (offer, status) in [
        (upgrade.to_string(), 200),
        (upgrade.replace("healthz", "nothing"), 404),
    ] {
        let mut wire = Wire::open(server.address);
        wire.send(offer.as_bytes());
        let answer = wire.answer_to("GET").unwrap();
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("connection"), Some("close"));
        wire.send(server.get("/healthz").wire().as_slice());
        assert!(wire.is_closed());
    }
    let hello = b"\x16\x03\x01\x00\xc4\x01\x00\x00\xc0\x03\x03random random random random random";
    for bytes in [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..],
        hello,
        b"EHLO a\r\n",
        b"\0\0\0\0\0\0\0\0",
    ] {
        let mut wire = Wire::open(server.address);
        wire.send(bytes);
        wire.finish();
        assert!(
            wire.answers()
                .iter()
                .all(|it| (400..506).contains(&it.status))
        );
    }
    server.assert_well();
}

/// HTTP/1.0 has no chunks: the end of the connection ends a body of unknown length.
#[test]
fn streams_to_http_1_0_callers_are_not_chunked() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let calls = [
        server.native(&customer, "GET", &format!("/jobs/{job}/events")),
        server.native(&customer, "HEAD", &format!("/jobs/{job}/events")),
        server.operators_browser().call(
            &server,
            "GET",
            &format!("/accounts/{}/usage.csv", customer.account),
        ),
    ];
    for call in calls {
        let text = String::from_utf8(call.wire()).unwrap();
        let mut wire = Wire::open(server.address);
        wire.send(text.replace("HTTP/1.1", "HTTP/1.0").as_bytes());
        let answer = wire.answer_to(call.method()).unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.header("transfer-encoding"),
            None,
            "{}",
            call.target()
        );
        assert_eq!(answer.body.is_empty(), call.method() == "HEAD");
        assert!(wire.is_closed());
        // The connection stays open only for a body of known length.
        let text = text.replace("HTTP/1.1\r\n", "HTTP/1.0\r\nConnection: keep-alive\r\n");
        let mut wire = Wire::open(server.address);
        wire.send(text.as_bytes());
        let answer = wire.answer_to(call.method()).unwrap();
        assert_eq!(answer.header("connection"), None);
        assert!(wire.is_closed());
    }
    let mut wire = Wire::open(server.address);
    for _ in 0..2 {
        wire.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(wire.answer_to("GET").unwrap().status, 200);
    }
}

#[test]
fn hostile_17_clients_that_reset_right_after_sending() {
    let server = Server::start();
    let customer = server.customer("100.00");
    for at in 0..60 {
        let body = fox_with(json!({"prompt": "x".repeat(if at % 3 == 0 { 30_000 } else { 10 })}));
        let mut wire = Wire::open(server.address);
        wire.send(
            &server
                .generation(&customer, "/text-generations", &body)
                .wire(),
        );
        wire.reset();
    }
    server.assert_well();
    let ended = server.assert_settled().ended_jobs - 1;
    let paid: rust_decimal::Decimal = server.money(&customer).0.parse().unwrap();
    let price: rust_decimal::Decimal = "0.134".parse().unwrap();
    assert_eq!(
        rust_decimal::Decimal::from(100) - paid,
        price * rust_decimal::Decimal::from(ended)
    );
}

#[test]
fn hostile_18_sigterm_with_requests_in_flight_and_keep_alive_clients() {
    let data = tempfile::tempdir().unwrap();
    let settings = [
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "1"),
        ("FIRST_RUN__BALANCE", "1000"),
    ];
    let process = Process::start(data.path(), &settings);
    let (address, key) = (process.address, process.first_key.clone().unwrap());
    let idle: Vec<Wire> = (0..20).map(|_| Wire::open(address)).collect();
    let clients: Vec<_> = (0..5)
        .map(|_| {
            let call = process
                .call("POST", "/api/v1/nb/text-generations")
                .bearer(&key)
                .json(&fox());
            thread::spawn(move || {
                let mut accepted = Vec::new();
                let mut wire = Wire::open(address);
                // Until the server closes the connection; the balance bounds the loop.
                while wire.try_send(&call.wire()) {
                    match wire.answer_to("POST") {
                        Some(answer) if answer.status == 202 => accepted.push(answer.job_id()),
                        Some(answer) => {
                            assert!([402, 503].contains(&answer.status), "{}", answer.text())
                        }
                        None => break,
                    }
                    if accepted.len() >= 5_000 {
                        break;
                    }
                }
                accepted
            })
        })
        .collect();
    let customer_sees = process.call("GET", "/api/v1/balance").bearer(&key);
    crate::support::until("jobs are accepted", || {
        customer_sees.expect(200).json()["reserved"] != "0.00"
    });
    let stopped = process.terminate();
    assert_eq!(stopped.status, Some(0), "{}", stopped.log);
    let accepted: Vec<String> = clients
        .into_iter()
        .flat_map(|it| it.join().unwrap())
        .collect();
    assert!(!accepted.is_empty());
    drop(idle);
    let verified = Process::command(data.path(), &[])
        .arg("verify")
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let again = Process::start(data.path(), &settings);
    for job in &accepted {
        let path = format!("/api/v1/jobs/{job}");
        again.call("GET", &path).bearer(&key).expect(200);
    }
}
