//! Requests recorded from the SDKs: Python's google-genai 1.75, 2.34 and 3.4, JavaScript's @google/genai 1.52 and 2.32, Python's
//! openai 1.109 and 3.52. A request that several SDKs send is listed once.

use crate::fixture::ResponseAssertions;
use crate::support::http::Request;
use crate::support::{Customer, Server, sample_images};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let text = include_str!("recorded.json");
    serde_json::from_str(text).expect("JSON")
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().expect(name)
}

fn request(server: &Server, customer: &Customer, case: &Value) -> Request {
    let call = server.call(text(case, "method"), text(case, "target"));
    let call = if text(case, "sdk").starts_with("openai") {
        call.bearer(&customer.key)
    } else {
        call.header("x-goog-api-key", &customer.key)
    };
    match &case["body"] {
        Value::Null => call,
        body if body.get("multipart").is_some() => form(call, &body["multipart"]),
        body => call.json(body),
    }
}

/// A form with these parts. Each file is an image with an alpha channel, as in the recording.
fn form(call: Request, parts: &Value) -> Request {
    let mut bytes = Vec::new();
    for part in parts.as_array().expect("parts") {
        bytes.extend(b"--boundary\r\n");
        for header in part["headers"].as_array().expect("headers") {
            bytes.extend(header.as_str().unwrap().as_bytes());
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"\r\n");
        let data = text(part, "data");
        if data.starts_with('<') {
            bytes.extend(sample_images::transparent(8, 8));
        } else {
            bytes.extend(data.as_bytes());
        }
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"--boundary--\r\n");
    call.bytes("multipart/form-data; boundary=boundary", &bytes)
}

#[test]
fn every_recorded_request_is_answered_as_its_sdk_expects() {
    let server = Server::start();
    let customer = server.customer("100.00");
    let cases = cases();
    assert!(cases.len() > 50);
    for case in &cases {
        let answer = request(&server, &customer, case).send();
        let name = text(case, "case");
        let said = format!("{case}: {}", answer.text());
        match name {
            // Two invalid images, a host that does not resolve, and unsupported requests.
            "inline_image_needs_urlsafe" | "file_uri_part" => {
                assert_eq!(answer.status, 400, "{said}");
                answer.assert_google_error(400, "INVALID_ARGUMENT");
            }
            "model_with_slash"
            | "models_get_missing"
            | "interactions_create"
            | "generate_images"
            | "batches_create_inline"
            | "files_list" => {
                assert_eq!(answer.status, 404, "{said}");
                answer.assert_google_error(404, "NOT_FOUND");
            }
            "openai_generate_stream" => {
                assert_eq!(answer.header("content-type"), Some("text/event-stream"));
                let event = "event: image_generation.completed\n";
                assert!(answer.text().starts_with(event), "{said}");
            }
            // A PNG with a compression, which OpenAI refuses too.
            "openai_generate_full" => {
                let code = Some("invalid_png_output_compression");
                answer.assert_openai_error(400, "image_generation_user_error", code);
            }
            "models_list" | "models_list_page" => {
                let models = answer.json()["models"].as_array().map(Vec::len);
                assert!(models >= Some(5), "{said}");
            }
            "openai_models_list" => assert_eq!(answer.json()["object"], "list", "{said}"),
            "models_get" => {
                assert_eq!(answer.json()["name"], "models/gemini-3-pro-image", "{said}")
            }
            "count_tokens" => assert_eq!(answer.json()["totalTokens"], 1, "{said}"),
            "stream" => assert!(answer.text().starts_with("data: {"), "{said}"),
            "openai_generate_url" => assert!(answer.json()["data"][0]["url"].is_string(), "{said}"),
            _ if name.starts_with("openai") => {
                assert!(answer.json()["data"][0]["b64_json"].is_string(), "{said}");
            }
            _ => assert!(!answer.image().is_empty(), "{said}"),
        }
    }
    server.assert_settled();
}

#[test]
fn the_options_of_the_sdks_reach_the_backend() {
    let server = Server::start();
    let customer = server.customer("100.00");
    for mut case in cases() {
        let name = text(&case, "case").to_owned();
        if name == "openai_generate_full" {
            // The recorded PNG has a compression.
            case["body"]["output_format"] = "jpeg".into();
        }
        let before = server.generator.runs();
        request(&server, &customer, &case).send();
        let orders = server.generator.orders();
        let order = || orders.get(before).expect("a run");
        match name.as_str() {
            "image_config" | "image_config_title_case_modalities" => {
                assert_eq!(order().ratio.to_string(), "16:9");
                assert_eq!(order().resolution.as_str(), "2K");
            }
            "image_config_as_dict_snake" => assert_eq!(order().resolution.as_str(), "4K"),
            "all_knobs" => assert!(order().prompt.starts_with("be brief\n\n")),
            "inline_image_part" => {
                assert_eq!(order().prompt, "make it blue");
                assert_eq!(order().inputs.len(), 1);
            }
            "multi_turn" => {
                assert_eq!(order().prompt, "dog");
                assert_eq!(order().inputs.len(), 1, "the model's own image");
            }
            "openai_generate_custom_size" => assert_eq!(order().ratio.to_string(), "16:9"),
            "openai_generate_full" => assert_eq!(order().ratio.to_string(), "3:2"),
            "openai_edit_one" => assert_eq!(order().inputs.len(), 1),
            _ => {}
        }
    }
}
