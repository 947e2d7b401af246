//! Specification, "Generation request (body fields)".

use crate::support::{Origin, Server, fox_with, options::Options, origin, sample_images};
use serde_json::{Value, json};

const PATH: &str = "/text-generations";

/// Asserts that a text-to-image call rejects each value of a field by name.
fn assert_invalid(field: &str, values: &[Value]) {
    let server = Server::start();
    let customer = server.customer("1.00");
    for value in values {
        let body = fox_with(json!({field: value}));
        server.generation(&customer, PATH, &body).invalid(&[field]);
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

/// Asserts that a call rejects a missing field by name.
fn assert_required(field: &str) {
    let server = Server::start();
    let customer = server.customer("1.00");
    let mut body = fox_with(json!({}));
    body.as_object_mut().unwrap().remove(field);
    server.generation(&customer, PATH, &body).invalid(&[field]);
}

#[test]
fn prompt_is_a_string() {
    assert_invalid(
        "prompt",
        &[json!(1), json!(null), json!(["a"]), json!({}), json!(true)],
    );
}

#[test]
fn prompt_is_required() {
    assert_required("prompt");
}

#[test]
fn prompt_has_at_least_one_character() {
    assert_invalid("prompt", &[json!(""), json!("\0"), json!("\0\0\0")]);
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"prompt": "x"}));
    server.generation(&customer, PATH, &body).expect(202);
}

#[test]
fn null_bytes_of_the_prompt_are_stripped() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"prompt": "\0a\0b\0"}));
    let answer = server.generation(&customer, PATH, &body).expect(202);
    server.job_once(&customer, &answer.job_id(), "done");
    assert_eq!(server.generator.orders()[0].prompt, "ab");
}

#[test]
fn aspect_ratio_is_a_string() {
    assert_invalid(
        "aspect_ratio",
        &[json!(1.0), json!(null), json!([1, 1]), json!({})],
    );
}

#[test]
fn aspect_ratio_is_required() {
    assert_required("aspect_ratio");
}

#[test]
fn aspect_ratio_is_a_supported_value() {
    let values = [
        "",
        "1",
        "1:1:1",
        "7:5",
        "0:0",
        "16:9 ",
        "１６:９",
        "016:9",
        "16x9",
        "AUTO",
    ];
    assert_invalid("aspect_ratio", &values.map(Value::from));
}

#[test]
fn resolution_is_a_string_out_of_three() {
    assert_invalid(
        "resolution",
        &[
            json!(1),
            json!("3K"),
            json!(["1K"]),
            json!({}),
            json!(false),
        ],
    );
}

#[test]
fn input_images_urls_are_required_on_image_to_image_only() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for path in [
        "/url-generations",
        "/nb2/url-generations",
        "/nb/url-generations",
    ] {
        server
            .generation(&customer, path, &fox_with(json!({})))
            .invalid(&["input_images_urls"]);
    }
    let body = fox_with(json!({"input_images_urls": ["http://example.com/a.png"]}));
    for path in [
        "/text-generations",
        "/nb2/text-generations",
        "/nb/text-generations",
    ] {
        server
            .generation(&customer, path, &body)
            .invalid(&["input_images_urls"]);
    }
}

#[test]
fn input_images_urls_are_an_array_of_strings() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let refused = |value: Value, fields: &[&str]| {
        let body = fox_with(json!({"input_images_urls": value}));
        server
            .generation(&customer, "/url-generations", &body)
            .invalid(fields);
    };
    for value in [json!("http://a/"), json!(null), json!({}), json!(1)] {
        refused(value, &["input_images_urls"]);
    }
    let mixed = json!(["http://example.com/", 1, null, ["http://example.com/"]]);
    refused(
        mixed,
        &[
            "input_images_urls[1]",
            "input_images_urls[2]",
            "input_images_urls[3]",
        ],
    );
}

#[test]
fn input_images_urls_have_1_to_14_entries() {
    let image = origin::bytes(sample_images::png(2, 2));
    let origin = Origin::start([("/a.png", image)]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    for (count, status) in [(0, 422), (1, 202), (14, 202), (15, 422)] {
        let body = fox_with(json!({"input_images_urls": vec![origin.url("/a.png"); count]}));
        let answer = server.generate(&customer, "/url-generations", &body);
        assert_eq!(answer.status, status, "{count}: {}", answer.text());
        if status == 422 {
            assert_eq!(answer.faulty_fields(), ["input_images_urls"]);
        } else {
            server.job_once(&customer, &answer.job_id(), "done");
            assert_eq!(server.generator.orders().pop().unwrap().inputs.len(), count);
        }
    }
}

#[test]
fn each_input_url_starts_with_http_or_https() {
    let server = Server::start();
    // No money: validation of the body precedes the balance check.
    let customer = server.customer("0.00");
    let bad = [
        "ftp://example.com/",
        "example.com",
        "",
        " http://example.com/",
        "HTTP://example.com/",
        "httpx://example.com/",
        "http:/example.com",
        "data:image/png;base64,AA",
    ];
    for url in bad {
        let body = fox_with(json!({"input_images_urls": ["https://example.com/", url]}));
        server
            .generation(&customer, "/url-generations", &body)
            .invalid(&["input_images_urls[1]"]);
    }
}

#[test]
fn callback_url_is_a_string_and_optional() {
    assert_invalid(
        "callback_url",
        &[json!(1), json!([]), json!({}), json!(true)],
    );
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"callback_url": null}));
    server.generation(&customer, PATH, &body).expect(202);
}

#[test]
fn callback_url_equals_a_registered_webhook_url() {
    assert_invalid(
        "callback_url",
        &[json!("https://example.com/not-registered")],
    );
}

#[test]
fn metadata_is_an_object_and_optional() {
    assert_invalid("metadata", &[json!(1), json!("{}"), json!([]), json!(true)]);
    let server = Server::start();
    let customer = server.customer("1.00");
    let everything = json!({"a": [1, "b", null, true, {"c": 0.5}], "_internal": "kept"});
    for metadata in [json!(null), json!({}), everything] {
        let body = fox_with(json!({"metadata": metadata}));
        server.generation(&customer, PATH, &body).expect(202);
    }
}
