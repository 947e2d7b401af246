//! Specification, "Endpoints".

use crate::support::{
    ENDPOINTS, Origin, Server, fox_with, options::Options, origin, sample_images,
};
use serde_json::{Value, json};
use uuid::Uuid;

#[test]
fn every_generation_endpoint_takes_its_fields() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(4, 2)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("10.00");
    for (path, tier, takes_images) in ENDPOINTS {
        let mut body = fox_with(json!({"metadata": {"order": path}}));
        if tier != "fast" {
            body["resolution"] = json!("2K");
        }
        if takes_images {
            body["input_images_urls"] = json!([origin.url("/a.png")]);
        }
        let answer = server.generation(&customer, path, &body).expect(202);
        server.job_once(&customer, &answer.job_id(), "done");
        let order = server.generator.orders().pop().unwrap();
        assert_eq!(order.tier.as_str(), tier, "{path}");
        assert_eq!(order.job.to_string(), answer.job_id());
        assert_eq!(order.prompt, "a red fox in the snow");
        assert_eq!(order.inputs.len(), usize::from(takes_images));
        let resolution = if tier == "fast" { "1K" } else { "2K" };
        assert_eq!(order.resolution.as_str(), resolution);
        if takes_images {
            assert_eq!((order.inputs[0].width, order.inputs[0].height), (4, 2));
        }
    }
    server.assert_settled();
}

#[test]
fn every_generation_endpoint_rejects_fields_that_its_tier_or_mode_does_not_have() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (path, tier, takes_images) in ENDPOINTS {
        let mut body =
            fox_with(json!({"resolution": "2K", "input_images_urls": ["http://example.com/"]}));
        let mut faults = Vec::new();
        if tier == "fast" {
            faults.push("resolution");
        }
        if takes_images {
            body["input_images_urls"] = json!([]);
        }
        faults.push("input_images_urls");
        server.generation(&customer, path, &body).invalid(&faults);
    }
}

#[test]
fn generation_endpoints_take_post_only() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (path, _, _) in ENDPOINTS {
        for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let answer = server
                .native(&customer, method, path)
                .refused(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some("POST"));
        }
    }
}

#[test]
fn get_job_answers_200_with_the_job() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    assert_eq!(server.job_once(&customer, &job, "done")["job_id"], job);
}

#[test]
fn get_job_answers_404_for_an_unknown_id() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let unknown = Uuid::now_v7().to_string();
    for id in [&*unknown, "x", "00000000-0000-0000-0000-000000000000", "1"] {
        server
            .native(&customer, "GET", &format!("/jobs/{id}"))
            .refused(404, "not_found");
    }
}

#[test]
fn get_job_answers_404_for_a_job_of_another_account() {
    let server = Server::start();
    let (owner, other) = (server.customer("1.00"), server.customer("1.00"));
    let job = server.create(&owner);
    for method in ["GET", "DELETE"] {
        server
            .native(&other, method, &format!("/jobs/{job}"))
            .refused(404, "not_found");
    }
    server.job_once(&owner, &job, "done");
}

#[test]
fn get_balance_answers_200_with_the_balance() {
    let server = Server::start();
    let customer = server.customer("3.50");
    let body = server
        .native(&customer, "GET", "/balance")
        .expect(200)
        .json();
    let expected: Value = json!({"balance": "3.50", "reserved": "0.00", "available": "3.50"});
    assert_eq!(body, expected);
}
