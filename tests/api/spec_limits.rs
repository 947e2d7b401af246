//! Specification, "Limits" and "Versioning".

use crate::support::{ENDPOINTS, Server, fox, fox_with, options::Options};
use serde_json::json;

#[test]
fn input_images_per_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for count in [0, 15, 100] {
        let body = fox_with(json!({"input_images_urls": vec!["http://example.com/"; count]}));
        for (path, ..) in ENDPOINTS.iter().filter(|(.., images)| *images) {
            server
                .generation(&customer, path, &body)
                .invalid(&["input_images_urls"]);
        }
    }
}

#[test]
fn total_input_size_is_200_mb_unless_configured() {
    let default = tintype::config::Config::load(&tintype::config::Sources::default()).unwrap();
    assert_eq!(default.inputs.max_total_bytes, 200_000_000);
    // `spec_errors::status_422_total_input_too_large` tests that the server enforces the limit.
}

#[test]
fn prompt_minimum_length_on_all_generation_endpoints() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (path, _, takes_images) in ENDPOINTS {
        let mut body = fox_with(json!({"prompt": ""}));
        if takes_images {
            body["input_images_urls"] = json!(["http://example.com/"]);
        }
        server
            .generation(&customer, path, &body)
            .invalid(&["prompt"]);
    }
}

#[test]
fn resolutions_per_tier() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (path, tier, _) in ENDPOINTS.iter().filter(|(.., images)| !images) {
        for resolution in ["1K", "2K", "4K"] {
            let body = fox_with(json!({"resolution": resolution}));
            let status = if *tier == "fast" { 422 } else { 202 };
            server.generation(&customer, path, &body).expect(status);
        }
    }
}

#[test]
fn image_url_lifetime_is_in_the_url() {
    let server = Server::with(Options::new().set("results.url_lifetime_seconds", 60));
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let seen = server.job_once(&customer, &job, "done");
    let url = seen["result"]["image_url"].as_str().unwrap();
    let expires: i64 = url
        .split_once("expires=")
        .and_then(|(_, rest)| rest.split('&').next()?.parse().ok())
        .unwrap();
    // Never less than promised; the service rounds the expiry up to a second.
    assert_eq!(expires, server.clock.seconds() + 61, "{url}");
}

#[test]
fn the_version_is_part_of_the_base_address() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server
        .generation(&customer, "/text-generations", &fox())
        .expect(202);
    let status_url = answer.json()["status_url"].as_str().unwrap().to_owned();
    assert!(status_url.starts_with("/api/v1/jobs/"));
    for elsewhere in ["/balance", "/api/balance", "/api/v2/balance"] {
        server
            .get(elsewhere)
            .bearer(&customer.key)
            .refused(404, "not_found");
    }
    // This prefix belongs to the synchronous interface.
    server.get("/v1/balance").bearer(&customer.key).expect(404);
}
