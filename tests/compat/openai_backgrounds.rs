//! `background` of OpenAI's image generations, edits and batches.

use crate::file_batches::line;
use crate::fixture::ResponseAssertions;
use crate::openai_edits;
use crate::output_formats::{fox, image_of, server_with};
use crate::support::sample_images::transparent;
use crate::support::{Server, merge, sample_images};
use image::DynamicImage;
use serde_json::{Value, json};

/// The decoded image of a response.
#[track_caller]
fn pixels_of(answer: &Value) -> DynamicImage {
    image::load_from_memory(&image_of(answer)).expect("an image")
}

#[test]
fn a_response_describes_the_background_of_its_image() {
    for (file, background, extra, word, has_alpha) in [
        (transparent(64, 64), "auto", json!({}), "transparent", true),
        (
            transparent(64, 64),
            "auto",
            json!({"output_format": "webp"}),
            "transparent",
            true,
        ),
        (
            transparent(64, 64),
            "auto",
            json!({"output_format": "jpeg"}),
            "opaque",
            false,
        ),
        (transparent(64, 64), "opaque", json!({}), "opaque", false),
        (
            transparent(64, 64),
            "opaque",
            json!({"output_format": "webp"}),
            "opaque",
            false,
        ),
        (
            sample_images::png(64, 64),
            "auto",
            json!({}),
            "opaque",
            false,
        ),
    ] {
        let server = server_with(file);
        let customer = server.customer("1.00");
        let mut body = fox(json!({"background": background}));
        merge(&mut body, extra);
        let answer = server.openai(&customer, &body).expect(200).json();
        assert_eq!(answer["background"], word, "{body}");
        let image = pixels_of(&answer);
        assert_eq!(image.color().has_alpha(), has_alpha, "{body}");
        if background == "opaque" {
            assert_eq!(image.into_rgb8().get_pixel(9, 9).0, [255; 3]);
        }
        merge(&mut body, json!({"stream": true}));
        let text = server.openai(&customer, &body).expect(200).text();
        let said = format!(r#""background":"{word}""#);
        assert!(text.contains(&said), "{body}");
        server.assert_settled();
    }
}

#[test]
fn a_response_with_an_url_says_only_what_is_known_of_the_background() {
    let server = server_with(transparent(64, 64));
    let customer = server.customer("1.00");
    for (extra, said) in [
        (json!({}), Value::Null),
        (json!({"background": "opaque"}), json!("opaque")),
        (json!({"output_format": "jpeg"}), json!("opaque")),
    ] {
        let mut body = fox(json!({"response_format": "url"}));
        merge(&mut body, extra);
        let answer = server.openai(&customer, &body).expect(200).json();
        assert!(answer["data"][0]["url"].is_string());
        assert_eq!(answer["background"], said, "{body}");
    }
}

#[test]
fn edits_and_lines_of_a_batch_have_backgrounds_of_their_own() {
    let server = server_with(transparent(64, 64));
    let customer = server.customer("1.00");
    let texts = [("prompt", "a hat"), ("background", "opaque")];
    let body = openai_edits::form(&texts, &[("image", &sample_images::png(9, 9))]);
    let call = openai_edits::call(&server, &customer, &body);
    let answer = call.expect(200).json();
    assert_eq!(answer["background"], "opaque");
    assert!(!pixels_of(&answer).color().has_alpha());
    let words = ["auto", "opaque"];
    let requests = words.map(|it| line(it, fox(json!({"background": it}))));
    let batch = server.submit_file(&customer, &requests);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let results = server.result_lines(&customer, &batch["output_file_id"]);
    for (result, word) in results.iter().zip(["transparent", "opaque"]) {
        let body = &result["response"]["body"];
        assert_eq!(body["background"], word);
        assert_eq!(pixels_of(body).color().has_alpha(), word == "transparent");
    }
    assert_eq!(results.len(), 2);
    server.assert_settled();
}

#[test]
fn a_background_that_no_backend_generates_is_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (extra, why) in [
        (json!({"background": "transparent"}), "for the fast model"),
        (
            json!({"background": "transparent", "output_format": "jpeg"}),
            "for JPEG",
        ),
        (json!({"background": "white"}), "or `transparent`"),
    ] {
        let said = server.openai(&customer, &fox(extra)).send();
        let said = said.assert_openai_field("background");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn the_background_is_part_of_the_request() {
    let server = server_with(transparent(64, 64));
    let customer = server.customer("1.00");
    let call = |extra| server.openai(&customer, &fox(extra)).idempotent("k");
    call(json!({"background": "opaque"})).expect(200);
    let again = call(json!({"background": "opaque"})).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let said = call(json!({})).send();
    said.assert_openai_error(400, "invalid_request_error", Some("idempotency_key_reused"));
}
