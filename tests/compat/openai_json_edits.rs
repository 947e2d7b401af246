//! `POST /v1/images/edits` as JSON: input images at URLs and in data URLs.

use crate::fixture::{ResponseAssertions, image};
use crate::openai_edits::{call, form};
use crate::support::http::Request;
use crate::support::sample_images::transparent;
use crate::support::{Customer, OneNode, Options, Origin, Server, origin, sample_images, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use serde_json::{Value, json};

const INVALID: &str = "invalid_request_error";

fn edit(server: &Server, customer: &Customer, body: &Value) -> Request {
    let call = server.post("/v1/images/edits").bearer(&customer.key);
    call.json(body)
}

fn data_url(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

fn blue(images: Value) -> Value {
    json!({"prompt": "make it blue", "model": "fast", "images": images})
}

fn at(url: impl Into<String>) -> Value {
    json!({"image_url": url.into()})
}

fn assert_nothing_left(server: &Server) {
    until("no input is left", || {
        let left = server.objects_left();
        !left.iter().any(|key| key.starts_with("inputs"))
    });
}

#[test]
fn images_at_urls_and_in_data_urls_are_edited_in_their_order() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let jpeg = sample_images::encoded(20, 10, ImageFormat::Jpeg);
    let images = json!([
        at(origin.url("/a.png")),
        at(data_url(&jpeg)),
        at(origin.url("/a.png"))
    ]);
    let mut body = blue(images);
    body["input_fidelity"] = json!("high");
    body["mask"] = Value::Null;
    let answer = edit(&server, &customer, &body).expect(200).json();
    assert!(answer["data"][0]["b64_json"].is_string());
    let tokens = &answer["usage"]["input_tokens_details"]["image_tokens"];
    assert_eq!(*tokens, 3 * 258);
    let order = &server.generator.orders()[0];
    let widths: Vec<u32> = order.inputs.iter().map(|it| it.width).collect();
    assert_eq!(widths, [160, 20, 160]);
    assert!(order.inputs[1].key.ends_with(".jpg"), "by its bytes");
    assert_eq!(order.ratio.to_string(), "16:9", "that of the first");
    assert_eq!(order.prompt, "make it blue");
    body["stream"] = json!(true);
    let events = edit(&server, &customer, &body).expect(200).text();
    assert!(events.contains("image_edit.completed"), "{events}");
    assert_nothing_left(&server);
    server.assert_settled();
}

/// An image larger than the text of a body may be is not part of the text.
#[test]
fn a_large_image_fits_a_data_url() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let heavy = sample_images::heavy_png(2_000_000);
    edit(&server, &customer, &blue(json!([at(data_url(&heavy))]))).expect(200);
    let bytes = server.generator.orders()[0].inputs[0].bytes;
    assert_eq!(bytes, heavy.len() as u64);
    let mut body = blue(json!([at(data_url(&heavy))]));
    body["user"] = json!("x".repeat(1_100_000));
    let said = edit(&server, &customer, &body).send();
    said.assert_openai_error(400, INVALID, None);
    assert_nothing_left(&server);
}

#[test]
fn the_same_images_in_a_form_are_the_same_request() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(9, 9)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let png = sample_images::png(9, 9);
    let texts = [("prompt", "make it blue"), ("model", "fast")];
    let sent = form(&texts, &[("image", &png)]);
    call(&server, &customer, &sent).idempotent("k").expect(200);
    let again = blue(json!([at(data_url(&png))]));
    let again = edit(&server, &customer, &again).idempotent("k").expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let fetched = blue(json!([at(origin.url("/a.png"))]));
    let reused = edit(&server, &customer, &fetched).idempotent("k").send();
    reused.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
    let named = edit(&server, &customer, &fetched).idempotent("url");
    named.expect(200);
    let again = named.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(origin.accepted(), 1);
    server.assert_money(&customer, "0.922", "0.00", "0.922");
}

#[test]
fn invalid_references_and_images_are_refused_and_leave_nothing() {
    let origin = Origin::start([("/text", origin::bytes(b"no image".to_vec()))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let png = at(data_url(&sample_images::png(9, 9)));
    let many = vec![png.clone(); 15];
    for (images, field, why) in [
        (Value::Null, "images", "send at least one"),
        (json!([]), "images", "send at least one"),
        (png.clone(), "images", "must be an array"),
        (json!(many), "images", "at most 14"),
        (
            json!([png, "https://a.example/a.png"]),
            "images[1]",
            "must be an object",
        ),
        (json!([{}]), "images[0].image_url", "is required"),
        (
            json!([{"image_url": {"url": "x"}}]),
            "images[0].image_url",
            "must be a string",
        ),
        (
            json!([png, {"file_id": "file-a"}]),
            "images[1].file_id",
            "send `image_url`",
        ),
        (
            json!([at("ftp://a.example/a")]),
            "images[0].image_url",
            "http:// or https://",
        ),
        (
            json!([at("")]),
            "images[0].image_url",
            "http:// or https://",
        ),
        (
            json!([at("https://".repeat(300))]),
            "images[0].image_url",
            "at most 2048",
        ),
        (
            json!([at("data:0")]),
            "images[0].image_url",
            "data:image/png;base64,",
        ),
        (
            json!([at("data:image/png,AA")]),
            "images[0].image_url",
            "data:image/png;base64,",
        ),
        (
            json!([at("data:;base64,A!")]),
            "images[0].image_url",
            "is not base64",
        ),
        (
            json!([png, at(data_url(b"no image"))]),
            "images[1].image_url",
            "by its bytes",
        ),
        (
            json!([png, at(origin.url("/text"))]),
            "images[1].image_url",
            "by its bytes",
        ),
        (
            json!([png, at(origin.url("/gone"))]),
            "images[1].image_url",
            "404",
        ),
    ] {
        let answer = edit(&server, &customer, &blue(images)).send();
        let said = answer.assert_openai_field(field);
        assert!(said.contains(why), "{said}");
    }
    for (name, value) in [
        ("prompt", Value::Null),
        ("n", json!(2)),
        ("image", png.clone()),
        ("mask", json!("data:image/png;base64,AAAA")),
    ] {
        let mut body = blue(json!([png]));
        body[name] = value;
        edit(&server, &customer, &body)
            .send()
            .assert_openai_field(name);
    }
    for body in [
        "",
        "[]",
        "{\"images\": [",
        "{\"images\": [], \"images\": []}",
    ] {
        let call = server.post("/v1/images/edits").bearer(&customer.key);
        assert_eq!(call.text(body).send().status, 400, "{body}");
    }
    let typed = |kind: &str| {
        let call = server.post("/v1/images/edits").bearer(&customer.key);
        let answer = call.bytes(kind, br#"{"prompt":"x"}"#).send();
        answer.assert_openai_error(400, INVALID, None)
    };
    let said = typed("text/plain");
    assert!(
        said.contains("multipart/form-data") && said.contains("JSON"),
        "{said}"
    );
    let said = typed("application/json; charset=latin1");
    assert!(said.contains("UTF-8"), "{said}");
    assert_eq!(server.generator.runs(), 0);
    until("nothing is left", || server.objects_left().is_empty());
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn a_url_passes_the_gate_before_it_is_fetched() {
    let trap = Origin::trap();
    let server = Server::start();
    let customer = server.customer("1.00");
    let png = at(data_url(&sample_images::png(9, 9)));
    for url in [
        trap.url("/a.png"),
        format!("http://[::ffff:127.0.0.1]:{}/a.png", trap.port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "https://user:pw@a.example/x.png".to_owned(),
    ] {
        let body = blue(json!([png, at(url.clone())]));
        let said = edit(&server, &customer, &body).send();
        said.assert_openai_field("images[1].image_url");
        let mut body = blue(json!([png]));
        body["mask"] = at(url);
        let said = edit(&server, &customer, &body).send();
        said.assert_openai_field("mask.image_url");
    }
    assert_eq!(trap.accepted(), 0);
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn calls_that_fetch_are_rate_limited_and_all_images_count() {
    let png = sample_images::heavy_png(1_000);
    let origin = Origin::start([("/a.png", origin::bytes(png.clone()))]);
    let most = i64::try_from(png.len() * 2).unwrap();
    let server = Server::with(
        Options::new()
            .one_node(OneNode::Rates)
            .allow_loopback()
            .set("inputs.max_total_bytes", most)
            .set("limits.fetches_per_second", 1)
            .set("limits.fetch_burst", 2),
    );
    let customer = server.customer("1.00");
    let (stored, fetched) = (at(data_url(&png)), at(origin.url("/a.png")));
    let send = |images: Value| edit(&server, &customer, &blue(images)).send();
    for images in [
        json!([stored, stored, fetched]),
        json!([stored, stored, stored]),
    ] {
        let said = send(images).assert_openai_error(400, INVALID, None);
        assert!(said.contains(&format!("{most} bytes over all")), "{said}");
    }
    assert_eq!(send(json!([stored, fetched])).status, 200);
    let refused = send(json!([fetched]));
    refused.assert_openai_error(429, "requests", Some("rate_limit_exceeded"));
    assert_eq!(send(json!([stored])).status, 200);
    assert_nothing_left(&server);
}

#[test]
fn a_mask_fits_the_first_image_wherever_they_are() {
    let origin = Origin::start([
        ("/image", origin::bytes(sample_images::png(16, 9))),
        ("/mask", origin::bytes(transparent(16, 9))),
        ("/tall", origin::bytes(transparent(9, 16))),
        ("/opaque", origin::bytes(sample_images::png(16, 9))),
    ]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let image_urls = [data_url(&sample_images::png(16, 9)), origin.url("/image")];
    let send = |image: &str, mask: &str| {
        let mut body = blue(json!([at(image)]));
        body["mask"] = at(mask);
        edit(&server, &customer, &body).send()
    };
    for image in &image_urls {
        for mask in [data_url(&transparent(16, 9)), origin.url("/mask")] {
            let before = server.generator.runs();
            let answer = send(image, &mask);
            assert_eq!(answer.status, 200, "{}", answer.text());
            let tokens = &answer.json()["usage"]["input_tokens_details"]["image_tokens"];
            assert_eq!(*tokens, 258, "the mask is no image");
            let order = &server.generator.orders()[before];
            assert!(order.has_mask);
            assert_eq!(order.inputs.len(), 2);
        }
        let jpeg = sample_images::encoded(16, 9, ImageFormat::Jpeg);
        for (mask, field, why) in [
            (data_url(&transparent(9, 16)), "mask", "16x9, not 9x16"),
            (origin.url("/tall"), "mask", "16x9, not 9x16"),
            (
                data_url(&sample_images::png(16, 9)),
                "mask",
                "an alpha channel",
            ),
            (origin.url("/opaque"), "mask.image_url", "an alpha channel"),
            (data_url(&jpeg), "mask", "must be PNG, not JPEG"),
            (data_url(b"no image"), "mask.image_url", "by its bytes"),
        ] {
            let said = send(image, &mask).assert_openai_field(field);
            assert!(said.contains(why), "{said}");
        }
    }
    assert_eq!(server.generator.runs(), 4);
    assert_nothing_left(&server);
    server.assert_settled();
}

#[test]
fn the_checks_before_the_body_are_those_of_a_form() {
    let server = Server::start();
    let body = blue(json!([at(data_url(
        &STANDARD.decode(image(9, 9)).unwrap()
    ))]));
    let stranger = server.post("/v1/images/edits").bearer("bad").json(&body);
    stranger
        .send()
        .assert_openai_error(401, INVALID, Some("invalid_api_key"));
    let scoped = server.customer_with("1.00", json!({"models": ["pro"]}));
    let said = edit(&server, &scoped, &body).send();
    said.assert_openai_error(403, INVALID, Some("model_not_allowed"));
    let poor = server.customer("0.01");
    let said = edit(&server, &poor, &body).send();
    said.assert_openai_error(429, "insufficient_quota", Some("insufficient_quota"));
    server.pause(&["fast"]);
    let customer = server.customer("1.00");
    let said = edit(&server, &customer, &body).send();
    said.assert_openai_error(503, "server_error", Some("unavailable"));
    assert_nothing_left(&server);
}
