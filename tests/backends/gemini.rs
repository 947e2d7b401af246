//! The Gemini API as a backend: requests and answers.

use crate::service::{
    KEY, LEFT, causes, ended, failure, gemini_image, image, make, noise, size, start,
};
use crate::stub::{Reply, Stub};
use crate::support::sample_images::{encoded, png};
use crate::support::{OneNode, Origin, fox_with, origin};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image::ImageFormat;
use serde_json::{Value, json};

#[test]
fn a_prompt_is_sent_in_the_format_of_the_api_and_its_image_is_stored_unchanged() {
    let drawn = encoded(96, 54, ImageFormat::Jpeg);
    let stub = Stub::answering([gemini_image(&drawn)]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let job = make(
        &server,
        &customer,
        json!({"prompt": "ein Fuchs \u{1f98a}", "aspect_ratio": "16:9", "resolution": "2K"}),
    );
    assert_eq!(image(&server, &job), drawn, "byte for byte");
    let link = job["result"]["image_url"].as_str().unwrap();
    assert!(
        link.contains(".jpg?"),
        "the type is that of the bytes: {link}"
    );
    let seen = stub.only();
    assert_eq!(seen.method, "POST");
    // Neither tier nor backend names a model, so the tier's first public id is the model.
    assert_eq!(
        seen.target,
        "/v1beta/models/gemini-3-pro-image:generateContent"
    );
    assert_eq!(seen.header("x-goog-api-key"), Some(KEY));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(
        seen.json(),
        json!({
            "contents": [{"role": "user", "parts": [{"text": "ein Fuchs \u{1f98a}"}]}],
            "generationConfig": {
                "responseModalities": ["IMAGE"],
                "imageConfig": {"aspectRatio": "16:9", "imageSize": "2K"},
            },
        })
    );
    server.assert_money(&customer, LEFT, "0.00", LEFT);
}

#[test]
fn a_model_without_sizes_gets_none_and_the_model_of_the_tier_takes_precedence() {
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |options| {
        let table = [("name", "far"), ("model", "models/gemini-2.5-flash-image")];
        let entry = table.map(|(key, value)| (key.to_owned(), toml::Value::from(value)));
        let entry = toml::Value::Table(entry.into_iter().collect());
        options
            .set("backends.far.model", "gemini-of-the-backend")
            .set("tiers.pro.backends", vec![entry])
    });
    make(&server, &customer, json!({}));
    let seen = stub.only();
    assert_eq!(
        seen.target,
        "/v1beta/models/gemini-2.5-flash-image:generateContent"
    );
    let config = &seen.json()["generationConfig"]["imageConfig"];
    assert_eq!(*config, json!({"aspectRatio": "1:1"}));
}

#[test]
fn a_ratio_that_the_model_lacks_is_cropped_from_its_nearest_ratio() {
    let stub = Stub::answering([gemini_image(&png(1584, 672))]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let job = make(&server, &customer, json!({"aspect_ratio": "8:1"}));
    let asked = &stub.only().json()["generationConfig"]["imageConfig"]["aspectRatio"];
    assert_eq!(*asked, "21:9");
    assert_eq!(size(&image(&server, &job)), (1584, 198));
}

#[test]
fn input_images_are_sent_inline_and_only_unsupported_formats_are_converted() {
    let (square, gif) = (png(40, 40), encoded(32, 32, ImageFormat::Gif));
    let origin = Origin::start([
        ("/a.png", origin::bytes(square.clone())),
        ("/b.gif", origin::bytes(gif)),
    ]);
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |it| it.allow_loopback());
    let urls = [origin.url("/a.png"), origin.url("/b.gif")];
    let body = fox_with(json!({"input_images_urls": urls}));
    let answer = server.generation(&customer, "/url-generations", &body);
    let job = ended(&server, &customer, &answer.expect(202).job_id());
    assert_eq!(job["status"], "done", "{job}");
    let parts = stub.only().json()["contents"][0]["parts"].clone();
    assert_eq!(
        parts[2]["text"], "a red fox in the snow",
        "the words come last"
    );
    let bytes = |part: &Value| {
        let data = part["inlineData"]["data"].as_str().unwrap();
        BASE64_STANDARD.decode(data).unwrap()
    };
    assert_eq!(bytes(&parts[0]), square);
    assert_eq!(parts[1]["inlineData"]["mimeType"], "image/png");
    assert_eq!(size(&bytes(&parts[1])), (32, 32));
}

/// Google asks callers to send images upright.
#[test]
fn a_rotated_photograph_is_turned_upright() {
    let photograph = crate::inputs::on_its_side(48);
    let origin = Origin::start([("/a.jpg", origin::bytes(photograph.clone()))]);
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |it| it.allow_loopback());
    let body = fox_with(json!({"input_images_urls": [origin.url("/a.jpg")]}));
    let answer = server.generation(&customer, "/url-generations", &body);
    let job = ended(&server, &customer, &answer.expect(202).job_id());
    assert_eq!(job["status"], "done", "{job}");
    let data = stub.only().json()["contents"][0]["parts"][0]["inlineData"]["data"].clone();
    let sent = BASE64_STANDARD.decode(data.as_str().unwrap()).unwrap();
    let sent = image::load_from_memory(&sent).unwrap().into_rgb8();
    let stored = image::load_from_memory(&photograph).unwrap().into_rgb8();
    assert_eq!(sent, image::imageops::rotate90(&stored));
}

#[test]
fn input_images_that_are_too_much_together_are_made_smaller() {
    let large = noise(1_400);
    assert!(
        (5_500_000..7_000_000).contains(&large.len()),
        "each alone is taken"
    );
    let small = png(40, 40);
    let origin = Origin::start([
        ("/large.png", origin::bytes(large)),
        ("/small.png", origin::bytes(small.clone())),
    ]);
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |it| it.allow_loopback());
    let mut urls = vec![origin.url("/large.png"); 3];
    urls.push(origin.url("/small.png"));
    let body = fox_with(json!({"input_images_urls": urls}));
    let answer = server.generation(&customer, "/url-generations", &body);
    let job = ended(&server, &customer, &answer.expect(202).job_id());
    assert_eq!(job["status"], "done", "{job}");
    let seen = stub.only();
    assert!(seen.body.len() < 20_000_000, "{}", seen.body.len());
    let last = seen.json()["contents"][0]["parts"][3]["inlineData"]["data"].clone();
    let last = BASE64_STANDARD.decode(last.as_str().unwrap()).unwrap();
    assert_eq!(last, small, "what is within its share stays as it is");
}

#[test]
fn a_request_refused_for_its_content_is_blocked_at_once_and_not_charged() {
    for (answer, expected) in [
        (
            json!({"candidates": [{"finishReason": "IMAGE_SAFETY", "finishMessage": "It shows too much.", "index": 0}]}),
            "blocked for safety: the image was refused (IMAGE_SAFETY): It shows too much.",
        ),
        (
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
            "blocked for safety: the prompt was refused (PROHIBITED_CONTENT)",
        ),
    ] {
        let stub = Stub::answering([Reply::json(&answer)]);
        let (server, customer) = start("gemini", &stub, |it| it.set("backends.far.retries", 2));
        let job = make(&server, &customer, json!({}));
        assert_eq!(failure(&server, &customer, &stub, &job), expected);
        stub.only();
    }
}

#[test]
fn a_text_response_is_retried_and_reported_if_no_image_follows() {
    let words = Reply::json(
        &json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"text": "Which fox do you mean? See http://127.0.0.1/help"}]}}]}),
    );
    let stub = Stub::answering([words.clone(), gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |it| it.set("backends.far.retries", 1));
    assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    assert_eq!(stub.seen().len(), 2);
    let stub = Stub::answering([words]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let job = make(&server, &customer, json!({}));
    assert_eq!(
        failure(&server, &customer, &stub, &job),
        "the image generator returned text instead of an image: Which fox do you mean? See [removed]"
    );
}

#[test]
fn an_invalid_api_key_is_a_setup_error_despite_its_400_status() {
    let answer = json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
    let stub = Stub::answering([Reply::error("400 Bad Request", &answer)]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let job = make(&server, &customer, json!({}));
    let error = failure(&server, &customer, &stub, &job);
    assert!(error.contains("misconfigured"), "{error}");
}

#[test]
fn a_backend_without_a_model_is_a_setup_error() {
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let none: [toml::Value; 0] = [];
    let (server, customer) = start("gemini", &stub, |it| {
        it.set("tiers.pro.compat_models", none.to_vec())
    });
    let job = make(&server, &customer, json!({}));
    let error = failure(&server, &customer, &stub, &job);
    assert!(
        error.contains("contact the operator of this service"),
        "{error}"
    );
    assert!(stub.seen().is_empty());
}

#[test]
fn the_retry_delay_in_the_details_of_an_error_is_respected() {
    let answer = json!({"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.2s"}]}});
    let stub = Stub::answering([
        Reply::error("429 Too Many Requests", &answer),
        gemini_image(&png(64, 64)),
    ]);
    let (server, customer) = start("gemini", &stub, |it| it.set("backends.far.retries", 1));
    assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    let seen = stub.seen();
    let waited = seen[1].at - seen[0].at;
    assert!(waited.as_millis() >= 1_200, "{waited:?}");
}

#[test]
fn a_version_in_the_address_is_not_written_twice() {
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |it| {
        it.set("backends.far.base_url", stub.url("/proxy/v1/"))
    });
    make(&server, &customer, json!({}));
    assert_eq!(
        stub.only().target,
        "/proxy/v1/models/gemini-3-pro-image:generateContent"
    );
}

#[test]
fn an_answer_of_tens_of_megabytes_is_taken() {
    let drawn = noise(3_000);
    assert!(drawn.len() > 27_000_000);
    let stub = Stub::answering([gemini_image(&drawn)]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let job = make(&server, &customer, json!({"resolution": "4K"}));
    assert!(image(&server, &job) == drawn, "byte for byte");
    let asked = &stub.only().json()["generationConfig"]["imageConfig"]["imageSize"];
    assert_eq!(*asked, "4K");
}

#[test]
fn configured_headers_are_sent_and_override_the_key_header() {
    let stub = Stub::answering([gemini_image(&png(64, 64))]);
    let (server, customer) = start("gemini", &stub, |it| {
        it.set("backends.far.headers.X-Proxy", "let me through")
            .set("backends.far.headers.X-Goog-Api-Key", "another key")
    });
    make(&server, &customer, json!({}));
    let seen = stub.only();
    assert_eq!(seen.header("x-proxy"), Some("let me through"));
    let keys = seen.headers.iter().filter(|(it, _)| it == "x-goog-api-key");
    assert_eq!(keys.count(), 1);
    assert_eq!(seen.header("x-goog-api-key"), Some("another key"));
}

#[test]
fn a_text_in_another_script_is_not_turned_into_question_marks() {
    let text = "\u{305d}\u{306e}\u{753b}\u{50cf}\u{306f}\u{7121}\u{7406}";
    let answer =
        json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": text}]}}]});
    let stub = Stub::answering([Reply::json(&answer)]);
    let (server, customer) = start("gemini", &stub, |it| it.one_node(OneNode::Figures));
    let job = make(&server, &customer, json!({}));
    assert_eq!(
        failure(&server, &customer, &stub, &job),
        "the image generator returned text instead of an image"
    );
    let cause = "it returned text instead of an image";
    assert_eq!(causes(&server, &job), [cause], "without the text");
}

#[test]
fn base64_in_lines_is_read() {
    let data = BASE64_STANDARD.encode(png(64, 64));
    let lines: Vec<&str> = data
        .as_bytes()
        .chunks(76)
        .map(|it| std::str::from_utf8(it).unwrap())
        .collect();
    let data = lines.join("\n");
    let answer = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"inlineData": {"mimeType": "image/png", "data": data}}]}}]});
    let stub = Stub::answering([Reply::json(&answer)]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let job = make(&server, &customer, json!({}));
    assert_eq!(image(&server, &job), png(64, 64));
}

#[test]
fn an_error_in_a_success_has_the_effect_of_its_code() {
    let busy = json!({"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}});
    let stub = Stub::answering([Reply::json(&busy)]);
    let (server, customer) = start("gemini", &stub, |it| it.set("backends.far.retries", 1));
    let job = make(&server, &customer, json!({}));
    let error = failure(&server, &customer, &stub, &job);
    assert_eq!(error, "the image generator is overloaded at the moment");
    assert_eq!(stub.seen().len(), 2, "retried");
}
