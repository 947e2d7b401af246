//! Specification, "Errors", native interface.

use crate::support::{Origin, Server, fox, fox_with, options::Options, origin, sample_images};
use serde_json::json;
use std::fs;
use uuid::Uuid;

#[test]
fn status_401_key_missing_invalid_or_inactive() {
    let server = Server::start();
    let answer = server.get("/api/v1/balance").refused(401, "unauthorized");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
}

#[test]
fn status_402_available_does_not_cover_the_price() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("0.20");
    let job = server.create(&customer);
    let refused = server
        .generation(&customer, "/text-generations", &fox())
        .refused(402, "insufficient_balance");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("another 0.134 USD is reserved"), "{detail}");
    server.assert_money(&customer, "0.20", "0.134", "0.066");
    // The balance still covers a cheaper model.
    server
        .generation(&customer, "/nb/text-generations", &fox())
        .expect(202);
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    assert_eq!(server.assert_settled().ended_jobs, 2);
}

#[test]
fn status_403_key_lacks_permission_for_the_model() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast", "quality"]}));
    server
        .generation(&customer, "/text-generations", &fox())
        .refused(403, "model_not_allowed");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn status_404_unknown_job() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .native(&customer, "GET", &format!("/jobs/{}", Uuid::now_v7()))
        .refused(404, "not_found");
}

#[test]
fn status_422_an_input_url_cannot_be_fetched() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(1, 1)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let urls = [origin.url("/a.png"), origin.url("/missing.png")];
    let body = fox_with(json!({"input_images_urls": urls}));
    server
        .generation(&customer, "/url-generations", &body)
        .invalid(&["input_images_urls[1]"]);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    assert_eq!(server.objects_left(), [""; 0]);
}

#[test]
fn status_422_total_input_too_large() {
    let image = sample_images::png(40, 40);
    let limit = 2 * image.len() as i64 + 1;
    assert!(
        limit >= 1_024 || image.len() < 512,
        "the limit is at least 1024"
    );
    let mut padded = image;
    padded.resize(1_000, 0);
    let origin = Origin::start([("/a.png", origin::bytes(padded))]);
    let server = Server::with(
        Options::new()
            .allow_loopback()
            .set("inputs.max_total_bytes", 2_000),
    );
    let customer = server.customer("1.00");
    for (count, status) in [(2, 202), (3, 422)] {
        let body = fox_with(json!({"input_images_urls": vec![origin.url("/a.png"); count]}));
        let answer = server.generate(&customer, "/url-generations", &body);
        assert_eq!(answer.status, status, "{count}: {}", answer.text());
        if status == 422 {
            answer.assert_problem(422, "validation_failed");
            assert_eq!(answer.faulty_fields()[0], "input_images_urls");
        }
    }
    server.assert_settled();
}

#[test]
fn status_422_unsupported_aspect_ratio_for_the_model() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"aspect_ratio": "1:8"}));
    server
        .generation(&customer, "/text-generations", &body)
        .expect(202);
    server
        .generation(&customer, "/nb/text-generations", &body)
        .invalid(&["aspect_ratio"]);
}

#[test]
fn status_502_upstream_storage_failure_while_ingesting() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(1, 1)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    fs::remove_dir_all(server.objects()).unwrap();
    fs::write(server.objects(), "in the way").unwrap();
    let body = fox_with(json!({"input_images_urls": [origin.url("/a.png")]}));
    let call = server
        .generation(&customer, "/url-generations", &body)
        .idempotent("again");
    call.refused(502, "storage_unavailable");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    fs::remove_file(server.objects()).unwrap();
    fs::create_dir(server.objects()).unwrap();
    let job = call.expect(202).job_id();
    server.job_once(&customer, &job, "done");
    server.assert_settled();
}

#[test]
fn status_503_project_or_model_paused() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let paths = [
        "/text-generations",
        "/nb2/text-generations",
        "/nb/text-generations",
    ];
    for (paused, refused) in [
        ("project", [true; 3]),
        ("pro", [true, false, false]),
        ("quality", [false, true, false]),
        ("fast", [false, false, true]),
    ] {
        server.pause(&[paused]);
        for (path, refused) in paths.iter().zip(refused) {
            let call = server
                .generation(&customer, path, &fox())
                .idempotent(&format!("{paused}{path}"));
            if refused {
                call.refused(503, "paused");
                // The same key works once the pause has ended.
                server.pause(&[]);
                call.expect(202);
                server.pause(&[paused]);
            } else {
                call.expect(202);
            }
        }
        server.native(&customer, "GET", "/balance").expect(200);
    }
    server.pause(&[]);
    assert_eq!(server.assert_settled().ended_jobs, 12);
}
