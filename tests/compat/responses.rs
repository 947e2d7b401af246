//! Responses with an image.

use crate::fixture::{ResponseAssertions, asking, fox, image, with_image};
use crate::support::sample_images::tiny_png;
use crate::support::{Server, merge};
use serde_json::{Value, json};

fn with_config(config: Value) -> Value {
    let mut body = fox();
    merge(&mut body, json!({ "generationConfig": config }));
    body
}

#[test]
fn an_image_is_returned_in_the_format_that_both_sdks_read() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server
        .gemini(&customer, "gemini-3-pro-image", &fox())
        .expect(200);
    assert_eq!(answer.image(), tiny_png());
    let media_type = answer.header("content-type");
    assert_eq!(media_type, Some("application/json; charset=UTF-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.json();
    assert_eq!(body["modelVersion"], "gemini-3-pro-image");
    let usage = &body["usageMetadata"];
    let of = |name: &str| usage[name].as_u64().expect(name);
    assert_eq!(
        of("promptTokenCount") + of("candidatesTokenCount"),
        of("totalTokenCount")
    );
    assert_eq!(of("candidatesTokenCount"), 1_120);
    let job = body["responseId"].as_str().expect("a job id");
    assert_eq!(server.job(&customer, job)["status"], "done");
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.assert_settled();
}

/// A proxy that reads ahead delays keep-alives, and hides that the client has disconnected.
#[test]
fn a_proxy_does_not_buffer_streams_and_images() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let stream = server
        .post("/v1beta/models/fast:streamGenerateContent?alt=sse")
        .header("x-goog-api-key", &customer.key)
        .json(&fox());
    for request in [
        stream,
        server.gemini(&customer, "fast", &fox()),
        server.openai(&customer, &json!({"prompt": "a fox"})),
        server.openai(&customer, &json!({"prompt": "a fox", "stream": true})),
    ] {
        let answer = request.expect(200);
        assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    }
}

#[test]
fn text_is_sent_only_on_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (modalities, texts) in [
        (json!(["IMAGE"]), 0),
        (json!(["Text", "Image"]), 1),
        (json!(["TEXT", "IMAGE"]), 1),
    ] {
        let body = with_config(json!({"responseModalities": modalities}));
        let answer = server.gemini(&customer, "fast", &body).expect(200);
        assert_eq!(answer.image(), tiny_png());
        let answer = answer.json();
        let parts = answer["candidates"][0]["content"]["parts"].as_array();
        let parts = parts.expect("parts");
        assert_eq!(parts.len(), texts + 1);
        assert_eq!(parts[0].get("text").is_some(), texts == 1, "{answer}");
    }
}

#[test]
fn a_request_for_text_alone_is_refused_and_charges_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = with_config(json!({"responseModalities": ["TEXT"]}));
    for method in ["generateContent", "streamGenerateContent?alt=sse"] {
        let path = format!("/v1beta/models/fast:{method}");
        let call = server.call("POST", &path).json(&body);
        let answer = call.header("x-goog-api-key", &customer.key).send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(
            said.starts_with("generationConfig.responseModalities"),
            "{said}"
        );
        assert!(said.contains("only generates images"), "{said}");
    }
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn every_api_version_and_every_model_id_is_accepted() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for version in ["v1", "v1beta", "v1alpha"] {
        for (model, tier) in [
            ("fast", "fast"),
            ("gemini-2.5-flash-image", "fast"),
            ("gemini-3.1-flash-lite-image", "fast"),
            ("quality", "quality"),
            ("gemini-3.1-flash-image", "quality"),
            ("gemini-3.1-flash-image-preview", "quality"),
            ("pro", "pro"),
            ("gemini-3-pro-image", "pro"),
            ("gemini-3-pro-image-preview", "pro"),
        ] {
            let before = server.generator.runs();
            server
                .post(&format!("/{version}/models/{model}:generateContent"))
                .header("x-goog-api-key", &customer.key)
                .json(&fox())
                .expect(200)
                .image();
            let orders = server.generator.orders();
            assert_eq!(orders[before].tier.as_str(), tier);
        }
    }
}

#[test]
fn ratio_and_size_reach_the_backend() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (model, config, ratio, size) in [
        ("pro", json!({}), "1:1", "1K"),
        (
            "pro",
            json!({"imageConfig": {"aspectRatio": "16:9", "imageSize": "2K"}}),
            "16:9",
            "2K",
        ),
        (
            "quality",
            json!({"image_config": {"aspect_ratio": "1:8", "image_size": "4K"}}),
            "1:8",
            "4K",
        ),
        (
            "fast",
            json!({"imageConfig": {"aspectRatio": "21:9", "imageSize": "1K"}}),
            "21:9",
            "1K",
        ),
        (
            "pro",
            json!({"responseFormat": {"image": {"aspectRatio": "ASPECT_RATIO_FOUR_BY_FIVE", "imageSize": "IMAGE_SIZE_TWO_K"}}}),
            "4:5",
            "2K",
        ),
        (
            "pro",
            json!({"responseFormat": [{"image": [{"aspectRatio": "3:2"}]}]}),
            "3:2",
            "1K",
        ),
        (
            "pro",
            json!({"temperature": 0.5, "topK": 3, "candidateCount": 1, "nobodyKnows": {"x": [1]}}),
            "1:1",
            "1K",
        ),
    ] {
        let before = server.generator.runs();
        server
            .gemini(&customer, model, &with_config(config.clone()))
            .expect(200);
        let order = &server.generator.orders()[before];
        let asked = (
            order.ratio.to_string(),
            order.resolution.as_str().to_owned(),
        );
        assert_eq!(asked, (ratio.to_owned(), size.to_owned()), "{config}");
    }
}

#[test]
fn without_a_ratio_the_image_has_the_ratio_of_the_first_input() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (model, width, height, ratio) in [
        ("pro", 1600, 900, "16:9"),
        ("pro", 100, 810, "1:8"),
        ("fast", 100, 810, "9:16"),
        ("fast", 50, 50, "1:1"),
    ] {
        let before = server.generator.runs();
        let body = with_image(&image(width, height));
        server.gemini(&customer, model, &body).expect(200);
        assert_eq!(server.generator.orders()[before].ratio.to_string(), ratio);
    }
    let mut body = with_image(&image(1600, 900));
    merge(
        &mut body,
        json!({"generationConfig": {"imageConfig": {"aspectRatio": "1:1"}}}),
    );
    let before = server.generator.runs();
    server.gemini(&customer, "pro", &body).expect(200);
    assert_eq!(server.generator.orders()[before].ratio.to_string(), "1:1");
}

#[test]
fn tokens_are_counted_without_a_job_and_without_money() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let count = |body: &Value| {
        let answer = server
            .post("/v1beta/models/pro:countTokens")
            .header("x-goog-api-key", &customer.key)
            .json(body)
            .expect(200);
        answer.json()["totalTokens"].as_u64().expect("a number")
    };
    assert_eq!(count(&asking("x")), 1);
    assert_eq!(count(&asking(&"x".repeat(400))), 100);
    assert_eq!(count(&with_image(&image(9, 9))), 3 + 258);
    assert_eq!(server.generator.runs(), 0);
    assert!(server.objects_left().is_empty());
}

#[test]
fn a_long_prompt_reaches_the_backend_unchanged() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let prompt = "a very long fox ".repeat(1_000);
    server
        .gemini(&customer, "pro", &asking(&prompt))
        .expect(200)
        .image();
    assert_eq!(server.generator.orders()[0].prompt, prompt);
}
