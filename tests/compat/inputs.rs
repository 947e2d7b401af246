//! Input images: in the body, or at a URL.

use crate::fixture::{ResponseAssertions, fox, image, with_image};
use crate::openai_edits::{call, form};
use crate::support::{OneNode, Options, Origin, Server, origin, sample_images, until};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use image::ImageFormat;
use serde_json::{Value, json};

fn with_url(url: &str) -> Value {
    json!({"contents": [{"parts": [{"text": "make it blue"}, {"fileData": {"fileUri": url}}]}]})
}

#[test]
fn both_alphabets_are_read_padded_or_not() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let bytes = sample_images::encoded(37, 23, ImageFormat::Jpeg);
    for engine in [URL_SAFE, URL_SAFE_NO_PAD, STANDARD_NO_PAD] {
        let before = server.generator.runs();
        let body = with_image(&engine.encode(&bytes));
        server.gemini(&customer, "pro", &body).expect(200).image();
        let order = &server.generator.orders()[before];
        assert_eq!(order.inputs[0].bytes, bytes.len() as u64);
        assert!(order.inputs[0].key.ends_with(".jpg"), "by its bytes");
        assert_eq!((order.inputs[0].width, order.inputs[0].height), (37, 23));
    }
}

#[test]
fn a_truncated_image_is_refused_before_a_job_is_created() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ] {
        let bytes = sample_images::cut_off(format);
        let body = with_image(&STANDARD_NO_PAD.encode(&bytes));
        let answer = server.gemini(&customer, "fast", &body).send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(said.ends_with("that is cut off before its end"), "{said}");
        let form = form(&[("prompt", "make it blue")], &[("image", &bytes)]);
        let answer = call(&server, &customer, &form).send();
        let said = answer.assert_openai_field("image[0]");
        assert!(said.ends_with("that is cut off before its end"), "{said}");
    }
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    until("nothing is left of them", || {
        server.objects_left().is_empty()
    });
}

/// An image with a valid structure and corrupt data, which only decoding detects.
fn altered() -> Vec<u8> {
    let mut bytes = sample_images::png(64, 64);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    bytes
}

#[test]
fn calls_with_inline_images_are_rate_limited_after_a_damaged_image_of_their_key() {
    let real = toml::Table::from_iter([("name".to_owned(), toml::Value::from("real"))]);
    let server = Server::with(
        Options::new()
            .one_node(OneNode::Attempts)
            .set("limits.fetches_per_second", 1)
            .set("limits.fetch_burst", 2)
            .set("backends.real.kind", "procedural")
            .set("tiers.fast.backends", vec![real]),
    );
    let (customer, other) = (server.customer("10.00"), server.customer("10.00"));
    let whole = with_image(&image(64, 64));
    for _ in 0..4 {
        server.gemini(&other, "fast", &whole).expect(200);
        server.gemini(&customer, "fast", &whole).expect(200);
    }
    let damaged = with_image(&STANDARD_NO_PAD.encode(altered()));
    let failed = server.gemini(&customer, "fast", &damaged).send();
    let said = failed.assert_google_error(400, "INVALID_ARGUMENT");
    assert!(said.starts_with("input image 1 cannot be read"), "{said}");
    for _ in 0..2 {
        server.gemini(&customer, "fast", &damaged).expect(400);
    }
    let refused = server.gemini(&customer, "fast", &damaged).send();
    let said = refused.assert_google_error(429, "RESOURCE_EXHAUSTED");
    assert!(said.contains("damaged within the last minute"), "{said}");
    let form = form(&[("prompt", "make it blue")], &[("image", &altered())]);
    call(&server, &customer, &form).expect(429);
    server.gemini(&other, "fast", &whole).expect(200);
    server.gemini(&customer, "fast", &fox()).expect(200);
    server.assert_money(&customer, "9.805", "0.00", "9.805");
}

#[test]
fn inputs_are_deleted_once_the_job_has_ended() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = with_image(&image(90, 90));
    server.gemini(&customer, "fast", &body).expect(200);
    let left = || {
        server
            .objects_left()
            .iter()
            .any(|key| key.starts_with("inputs"))
    };
    until("the input is gone", || !left());
}

#[test]
fn the_image_of_a_url_is_fetched_and_the_order_of_inputs_is_preserved() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    for name in ["fileData", "file_data"] {
        let uri = if name == "fileData" {
            "fileUri"
        } else {
            "file_uri"
        };
        let before = server.generator.runs();
        let body = json!({"contents": [{"parts": [
            {"inlineData": {"data": image(10, 20)}},
            {name: {uri: origin.url("/a.png")}},
            {"inlineData": {"data": image(30, 40)}},
            {"text": "all of them"},
        ]}]});
        server.gemini(&customer, "fast", &body).expect(200).image();
        let widths: Vec<u32> = server.generator.orders()[before]
            .inputs
            .iter()
            .map(|input| input.width)
            .collect();
        assert_eq!(widths, [10, 160, 30]);
    }
}

#[test]
fn a_url_is_checked_as_on_the_native_interface() {
    let trap = Origin::trap();
    let server = Server::start();
    let customer = server.customer("1.00");
    for url in [
        trap.url("/a.png"),
        format!("http://localhost:{}/a.png", trap.port()),
        format!("http://[::ffff:127.0.0.1]:{}/a.png", trap.port()),
        format!("http://2130706433:{}/", trap.port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "https://user:pw@a.example/x.png".to_owned(),
        "http://a.invalid/x.png".to_owned(),
    ] {
        let answer = server.gemini(&customer, "fast", &with_url(&url)).send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(
            said.starts_with("contents[0].parts[1].fileData.fileUri "),
            "{said}"
        );
    }
    assert_eq!(trap.accepted(), 0);
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn the_content_of_a_url_must_be_an_image() {
    let origin = Origin::start([
        ("/text", origin::bytes(b"no image".to_vec())),
        ("/gone", origin::status("404 Not Found", String::new())),
    ]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    for path in ["/text", "/gone", "/nothing"] {
        let body = with_url(&origin.url(path));
        let answer = server.gemini(&customer, "fast", &body).send();
        answer.assert_google_error(400, "INVALID_ARGUMENT");
    }
    assert!(server.objects_left().is_empty());
}

#[test]
fn an_earlier_image_of_the_model_is_used_as_input() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "a fox"}, {"inlineData": {"data": image(1, 9)}}]},
        {"role": "model", "parts": [{"inlineData": {"data": image(160, 90)}, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"text": "with a hat"}]},
    ]});
    server.gemini(&customer, "pro", &body).expect(200).image();
    let order = &server.generator.orders()[0];
    assert_eq!(order.prompt, "with a hat");
    assert_eq!(order.inputs.len(), 1);
    assert_eq!(order.ratio.to_string(), "16:9");
    let inputs = || {
        server
            .objects_left()
            .iter()
            .any(|it| it.starts_with("inputs"))
    };
    until("the image that no caller asked for is gone too", || {
        !inputs()
    });
}
