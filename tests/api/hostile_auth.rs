//! Hostile authentication, 30 to 36.

use crate::support::http::Session;
use crate::support::raw::Wire;
use crate::support::{
    ENDPOINTS, Options, Origin, Server, fox, fox_with, origin, sample_images, until,
};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use uuid::Uuid;

const BALANCE: &str = "/api/v1/balance";

#[test]
fn hostile_30_authorization_headers() {
    let server = Server::start();
    let key = server.customer("1.00").key;
    for good in [
        format!("Bearer {key}"),
        format!("bearer {key}"),
        format!("BEARER   {key}"),
        format!("Bearer {key}  "),
    ] {
        server
            .get(BALANCE)
            .header("Authorization", &good)
            .expect(200);
    }
    let lower = key.to_lowercase();
    for bad in [
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        key.clone(),
        format!("Basic {key}"),
        format!("Bearer{key}"),
        format!("Bearer\t{key}"),
        format!("Bearer {key} {key}"),
        format!("Bearer {key},"),
        format!("Bearer \"{key}\""),
        format!("Bearer {lower}"),
        format!("Bearer {}", &key[3..]),
        format!("Bearer {}", "t".repeat(8_192)),
        format!("Bearer tt_{}", "é".repeat(24)),
        format!("Bearer {key}\u{a0}"),
        format!("Token {key}"),
        "Bearer null".into(),
        format!("Bearer {}", key.replace("tt_", "TT_")),
    ] {
        server
            .get(BALANCE)
            .header("Authorization", &bad)
            .refused(401, "unauthorized");
    }
    for (one, other) in [(&key, &key), (&key, &lower), (&lower, &key)] {
        server
            .get(BALANCE)
            .bearer(one)
            .bearer(other)
            .refused(401, "unauthorized");
    }
    for elsewhere in [
        format!("{BALANCE}?key={key}"),
        format!("{BALANCE}?access_token={key}"),
    ] {
        server.get(&elsewhere).refused(401, "unauthorized");
    }
    let mut wire = Wire::open(server.address);
    wire.send(
        format!("GET {BALANCE} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\0\r\n\r\n")
            .as_bytes(),
    );
    wire.finish();
    assert!(wire.answers().iter().all(|it| it.status == 400));
    server.assert_well();
}

#[test]
fn hostile_31_a_key_that_is_withdrawn_during_its_request() {
    let (arrived, has_arrived) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let gate = parking_lot::Mutex::new((arrived, may_go_on));
    let slow: origin::Serve = Arc::new(move |stream| {
        let gate = gate.lock();
        gate.0.send(()).unwrap();
        let _ = gate.1.recv();
        origin::reply(stream, "200 OK", "", &sample_images::png(1, 1));
    });
    let origin = Origin::start([("/slow.png", slow)]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let colleague = server.another_key(&customer.account, json!({}));
    let body = fox_with(json!({"input_images_urls": [origin.url("/slow.png")]}));
    let call = server.generation(&customer, "/url-generations", &body);
    let waiting = thread::spawn(move || call.send());
    has_arrived.recv().unwrap();
    server
        .admin("DELETE", &format!("/keys/{}", customer.key_id))
        .expect(204);
    go_on.send(()).unwrap();
    // The key was valid when the call presented it, so either answer is fine, as long as the ledger agrees.
    let answer = waiting.join().unwrap();
    assert!([202, 401].contains(&answer.status), "{}", answer.text());
    server
        .native(&customer, "GET", "/balance")
        .refused(401, "unauthorized");
    assert_eq!(
        server.assert_settled().ended_jobs,
        u64::from(answer.status == 202)
    );
    let left = if answer.status == 202 {
        "0.866"
    } else {
        "1.00"
    };
    server.assert_money(&colleague, left, "0.00", left);
    server.assert_well();
}

#[test]
fn hostile_31_switching_a_key_off_and_on_while_it_is_used() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let mut session = Session::open(server.address);
            let call = server.native(&customer, "GET", "/balance");
            while !over.load(Ordering::SeqCst) {
                let answer = session.send(&call);
                assert!([200, 401].contains(&answer.status), "{}", answer.text());
            }
        });
        let path = format!("/keys/{}", customer.key_id);
        for round in 0..30 {
            let active = round % 2 == 1;
            server
                .admin("PATCH", &path)
                .json(&json!({"active": active}))
                .expect(200);
            // Effective before the operator gets the answer.
            let status = if active { 200 } else { 401 };
            server.native(&customer, "GET", "/balance").expect(status);
        }
        over.store(true, Ordering::SeqCst);
        calling.join().unwrap();
    });
}

#[test]
fn hostile_32_the_job_of_another_account() {
    let server = Server::start();
    let (owner, other) = (server.customer("1.00"), server.customer("1.00"));
    server.generator.hold();
    let job = server.create(&owner);
    for method in ["GET", "HEAD", "DELETE"] {
        for path in [
            format!("/jobs/{job}"),
            format!("/jobs/{}", job.to_uppercase()),
            format!("/jobs/{job}?account={}", owner.account),
        ] {
            server.native(&other, method, &path).expect(404);
        }
    }
    server.generator.release_all();
    let done = server.job_once(&owner, &job, "done");
    let body = server
        .native(&other, "GET", &format!("/jobs/{job}"))
        .refused(404, "not_found")
        .text();
    assert!(!body.contains(&owner.account) && !body.contains(&job));
    // The URL of the image is the permission to read it.
    let url = done["result"]["image_url"].as_str().unwrap();
    server
        .get(url.split_once(&server.address.to_string()).unwrap().1)
        .expect(200);
}

#[test]
fn hostile_33_a_missing_scope_is_rejected_before_any_charge() {
    let trap = Origin::trap();
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer_with("10.00", json!({"models": ["quality"]}));
    for (path, tier, takes_images) in ENDPOINTS.iter().filter(|(_, tier, _)| *tier != "quality") {
        let mut body = fox_with(json!({"prompt": "x".repeat(30_000)}));
        if *takes_images {
            body["input_images_urls"] = json!([trap.url("/")]);
        }
        let call = server.generation(&customer, path, &body).idempotent(tier);
        call.refused(403, "model_not_allowed");
    }
    assert_eq!(trap.accepted(), 0);
    assert_eq!(server.objects_left(), [""; 0]);
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    assert_eq!(server.assert_settled().ended_jobs, 0);
}

#[test]
fn hostile_34_many_wrong_keys_do_not_affect_a_valid_key() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let attackers: Vec<_> = (0..4_u8)
            .map(|seed| {
                let address = server.address;
                scope.spawn(move || {
                    let mut session = Session::open(address);
                    for at in 0..600_u16 {
                        let mut random = [seed; 32];
                        random[..2].copy_from_slice(&at.to_be_bytes());
                        // Well-formed, so that the server looks each key up.
                        let key = tintype_storage::domain::api_key::text(&random);
                        let call = crate::support::http::Request::new(address, "GET", BALANCE);
                        assert_eq!(session.send(&call.bearer(&key)).status, 401);
                    }
                })
            })
            .collect();
        let good = scope.spawn(|| {
            let mut session = Session::open(server.address);
            let call = server.native(&customer, "GET", "/balance");
            let mut served = 0;
            while !over.load(Ordering::SeqCst) {
                assert_eq!(session.send(&call).status, 200);
                served += 1;
            }
            served
        });
        attackers.into_iter().for_each(|it| it.join().unwrap());
        over.store(true, Ordering::SeqCst);
        assert!(good.join().unwrap() > 0);
    });
    server.assert_well();
}

#[test]
fn hostile_36_job_ids() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let v1 = "c232ab00-9414-11ec-b3c8-9f6bdeced846".to_owned();
    let v4 = "919108f7-52d1-4320-9bac-f847db4148a8".to_owned();
    for id in [
        v1,
        v4,
        Uuid::nil().to_string(),
        Uuid::max().to_string(),
        format!("%7b{job}%7d"),
        job.replace('-', ""),
        format!("{job}/"),
        format!("/{job}"),
        format!("{}%00", &job[..35]),
        "-".repeat(36),
        "é".repeat(18),
        "%F0%9F%A6%8A".repeat(9),
    ] {
        let id = id.replace('é', "%c3%a9");
        for method in ["GET", "DELETE"] {
            server
                .native(&customer, method, &format!("/jobs/{id}"))
                .refused(404, "not_found");
        }
    }
    until("it is done", || {
        server.job(&customer, &job)["status"] == "done"
    });
    server
        .native(&customer, "GET", &format!("/jobs/{}", job.to_uppercase()))
        .expect(200);
    server
        .generation(&customer, "/text-generations", &fox())
        .expect(202);
    server.assert_well();
}
