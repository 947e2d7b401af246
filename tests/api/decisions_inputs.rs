//! Decisions 1, `input_images_urls` and "Who may be fetched".

use crate::support::{Customer, Origin, Server, fox_with, options::Options, origin, sample_images};
use image::ImageFormat;
use serde_json::{Value, json};
use std::sync::{Arc, Barrier};

const PATH: &str = "/url-generations";

/// A call with these inputs.
fn call(server: &Server, customer: &Customer, urls: &[String]) -> crate::support::http::Request {
    let body = fox_with(json!({"input_images_urls": urls}));
    server.generation(customer, PATH, &body)
}

fn start() -> (Server, Customer) {
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("10.00");
    (server, customer)
}

#[test]
fn inputs_are_fetched_concurrently_while_the_call_waits() {
    let all_here = Arc::new(Barrier::new(14));
    let image = sample_images::png(3, 2);
    let together: origin::Serve = Arc::new(move |stream| {
        all_here.wait();
        origin::reply(stream, "200 OK", "", &image);
    });
    let origin = Origin::start([("/a", together)]);
    let (server, customer) = start();
    let urls = vec![origin.url("/a"); 14];
    let job = call(&server, &customer, &urls).expect(202).job_id();
    server.job_once(&customer, &job, "done");
    assert_eq!(origin.accepted(), 14);
}

#[test]
fn inputs_reach_the_generator_in_order_and_are_removed_when_the_job_ends() {
    let origin = Origin::start([
        ("/0", origin::bytes(sample_images::png(1, 2))),
        ("/1", origin::bytes(sample_images::png(3, 4))),
        ("/2", origin::bytes(sample_images::png(5, 6))),
    ]);
    let (server, customer) = start();
    server.generator.hold();
    let urls = ["/2", "/0", "/1", "/0"].map(|path| origin.url(path));
    let job = call(&server, &customer, &urls).expect(202).job_id();
    // A job is `processing` a moment before the service calls its generator.
    crate::support::until("the generator is asked", || {
        !server.generator.orders().is_empty()
    });
    let sizes: Vec<_> = server.generator.orders()[0]
        .inputs
        .iter()
        .map(|input| (input.width, input.height))
        .collect();
    assert_eq!(sizes, [(5, 6), (1, 2), (3, 4), (1, 2)]);
    assert_eq!(server.objects_left().len(), 4);
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    crate::support::until("only the result is left", || {
        server.objects_left() == [server.result_key(&job)]
    });
    server.assert_settled();
}

#[test]
fn inputs_of_a_failed_or_canceled_job_are_removed_too() {
    let origin = Origin::start([("/a", origin::bytes(sample_images::png(1, 1)))]);
    let options = Options::new().allow_loopback().slots(1);
    let server = Server::with(options);
    let customer = server.customer("10.00");
    server.generator.hold();
    server
        .generator
        .behave(crate::support::Behaviour::Refuse("no"));
    let urls = [origin.url("/a")];
    let fails = call(&server, &customer, &urls).expect(202).job_id();
    server.job_once(&customer, &fails, "processing");
    let canceled = call(&server, &customer, &urls).expect(202).job_id();
    assert_eq!(server.objects_left().len(), 2);
    let path = format!("/jobs/{canceled}");
    server.native(&customer, "DELETE", &path).expect(200);
    server.generator.release_all();
    server.job_once(&customer, &fails, "failed");
    crate::support::until("nothing is left", || server.objects_left().is_empty());
    server.assert_money(&customer, "10.00", "0.00", "10.00");
}

#[test]
fn a_url_has_at_most_2048_characters() {
    let (server, customer) = start();
    let origin = Origin::start([("/a", origin::bytes(sample_images::png(1, 1)))]);
    let mut url = origin.url("/a?");
    url.push_str(&"x".repeat(2_048 - url.len()));
    call(&server, &customer, &[url.clone()]).expect(202);
    url.push('x');
    call(&server, &customer, &[url]).invalid(&["input_images_urls[0]"]);
    server.assert_settled();
}

#[test]
fn data_that_is_not_an_image_is_422() {
    let html = b"<!doctype html><title>x</title>".to_vec();
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec();
    let disguised: origin::Serve = Arc::new(move |stream| {
        origin::reply(
            stream,
            "200 OK",
            "Content-Type: image/png\r\n",
            b"%PDF-1.7 not an image",
        );
    });
    let honest: origin::Serve = Arc::new(move |stream| {
        origin::reply(
            stream,
            "200 OK",
            "Content-Type: text/plain\r\n",
            &sample_images::png(2, 2),
        );
    });
    let origin = Origin::start([
        ("/html", origin::bytes(html)),
        ("/svg", origin::bytes(svg)),
        ("/empty", origin::bytes(Vec::new())),
        ("/disguised", disguised),
        ("/png-as-text", honest),
    ]);
    let (server, customer) = start();
    let urls =
        ["/png-as-text", "/html", "/svg", "/empty", "/disguised"].map(|path| origin.url(path));
    call(&server, &customer, &urls).invalid(&[
        "input_images_urls[1]",
        "input_images_urls[2]",
        "input_images_urls[3]",
        "input_images_urls[4]",
    ]);
    call(&server, &customer, &urls[..1]).expect(202);
    server.assert_settled();
}

#[test]
fn png_jpeg_webp_and_gif_are_accepted() {
    let formats = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::WebP,
        ImageFormat::Gif,
    ];
    let (server, customer) = start();
    for format in formats {
        let origin = Origin::start([("/a", origin::bytes(sample_images::encoded(7, 5, format)))]);
        let job = call(&server, &customer, &[origin.url("/a")])
            .expect(202)
            .job_id();
        server.job_once(&customer, &job, "done");
        let input = server
            .generator
            .orders()
            .pop()
            .unwrap()
            .inputs
            .pop()
            .unwrap();
        assert_eq!((input.width, input.height), (7, 5), "{format:?}");
    }
}

#[test]
fn five_redirects_are_followed_and_six_are_not() {
    let to = |path: &str| origin::status("302 Found", format!("Location: {path}\r\n"));
    let origin = Origin::start([
        ("/6", to("/5")),
        ("/5", to("/4")),
        ("/4", to("/3")),
        ("/3", to("/2")),
        ("/2", to("/1")),
        ("/1", to("/0")),
        ("/0", origin::bytes(sample_images::png(1, 1))),
    ]);
    let (server, customer) = start();
    call(&server, &customer, &[origin.url("/5")]).expect(202);
    call(&server, &customer, &[origin.url("/6")]).invalid(&["input_images_urls[0]"]);
    server.assert_settled();
}

#[test]
fn the_whole_ingestion_has_one_time_limit() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = parking_lot::Mutex::new(wait);
    let stalled: origin::Serve = Arc::new(move |stream| {
        let _ = wait.lock().recv();
        origin::reply(stream, "200 OK", "", b"");
    });
    let origin = Origin::start([
        ("/stalled", stalled),
        ("/fine", origin::bytes(sample_images::png(1, 1))),
    ]);
    let options = Options::new()
        .allow_loopback()
        .set("inputs.timeout_seconds", 1);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let urls = [origin.url("/fine"), origin.url("/stalled")];
    let answer = call(&server, &customer, &urls).invalid(&["input_images_urls[1]"]);
    assert!(answer.text().contains("not complete after 1"));
    drop(release);
    crate::support::until("nothing is left", || server.objects_left().is_empty());
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn only_public_addresses_are_reached_unless_the_operator_allows_more() {
    let trap = Origin::trap();
    let server = Server::start();
    let customer = server.customer("1.00");
    call(&server, &customer, &[trap.url("/")]).invalid(&["input_images_urls[0]"]);
    assert_eq!(trap.accepted(), 0);
    let options = Options::new().set("egress.allow", vec!["127.0.0.1/32"]);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let other = trap.url("/").replace("127.0.0.1", "127.0.0.2");
    call(&server, &customer, &[other]).invalid(&["input_images_urls[0]"]);
    assert_eq!(trap.accepted(), 0);
    call(&server, &customer, &[trap.url("/")]).invalid(&["input_images_urls[0]"]);
    assert_eq!(trap.accepted(), 1);
}

#[test]
fn every_faulty_entry_is_reported() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let refused = |urls: Value, fields: &[&str]| {
        let body = fox_with(json!({"input_images_urls": urls}));
        server
            .generation(&customer, "/url-generations", &body)
            .invalid(fields)
    };
    // The text of the entry decides alone.
    refused(
        json!(["HTTP://a/", "http://192.0.2.1/", "ftp://x/y", 5]),
        &[
            "input_images_urls[0]",
            "input_images_urls[2]",
            "input_images_urls[3]",
        ],
    );
    // A URL that is not public does not hide the faults of the others.
    refused(
        json!(["http://10.0.0.1/", "http://nowhere.invalid/"]),
        &["input_images_urls[0]", "input_images_urls[1]"],
    );
}
