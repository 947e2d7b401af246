//! Hostile JSON, 24 to 27: fields whose values are valid JSON of the wrong kind.

use crate::support::{ENDPOINTS, Options, Server, fox_with};
use serde_json::{Value, json};

const PATH: &str = "/text-generations";

#[test]
fn hostile_24_prompts() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let call = |text: &str| server.generation(&customer, PATH, &fox_with(json!({"prompt": text})));
    for empty in ["", "\0", "\0\0"] {
        call(empty).invalid(&["prompt"]);
    }
    let longest = "é".repeat(32_768);
    for odd in [
        "x",
        &longest,
        "\u{301}\u{301}\u{301}",
        "\u{202e}esrever",
        "\u{200b}",
        " ",
        "\u{10ffff}",
        "\u{fffe}",
    ] {
        let job = call(odd).expect(202).job_id();
        server.job_once(&customer, &job, "done");
        assert_eq!(server.generator.orders().pop().unwrap().prompt, odd);
    }
    call(&format!("{longest}é")).invalid(&["prompt"]);
    call(&"x".repeat(16_000_000)).refused(413, "payload_too_large");
    server.assert_well();
}

#[test]
fn hostile_25_fields() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let wrong = [
        json!(1),
        json!(-1.5),
        json!(true),
        json!([]),
        json!({}),
        json!([""]),
        json!({"a": 1}),
    ];
    for (path, tier, takes_images) in ENDPOINTS {
        for field in [
            "prompt",
            "aspect_ratio",
            "resolution",
            "callback_url",
            "metadata",
            "input_images_urls",
        ] {
            for value in &wrong {
                let fits = (field == "metadata" && value.is_object())
                    || (field == "input_images_urls" && takes_images && *value == json!([""]));
                if fits {
                    continue;
                }
                let mut body = fox_with(json!({}));
                if takes_images {
                    body["input_images_urls"] = json!(["http://192.0.2.1/"]);
                }
                body[field] = value.clone();
                let answer = server.generate(&customer, path, &body);
                answer.assert_problem(422, "validation_failed");
                assert_eq!(answer.faulty_fields(), [field], "{path} {body}");
            }
        }
        for ratio in [
            "16:9 ",
            " 16:9",
            "１６:９",
            "0:0",
            "16/9",
            "16:9:1",
            "-16:-9",
            "1e1:9",
            "auto ",
            "Auto",
        ] {
            let mut body = fox_with(json!({"aspect_ratio": ratio}));
            if takes_images {
                body["input_images_urls"] = json!(["http://192.0.2.1/"]);
            }
            server
                .generation(&customer, path, &body)
                .invalid(&["aspect_ratio"]);
        }
        if !takes_images {
            let body = fox_with(json!({"resolution": null}));
            server.generation(&customer, path, &body).expect(202);
        }
        if tier == "fast" && !takes_images {
            let body = fox_with(json!({"resolution": "1K"}));
            server
                .generation(&customer, path, &body)
                .invalid(&["resolution"]);
        }
    }
    server.assert_well();
}

#[test]
fn hostile_26_input_urls() {
    let server = Server::with(Options::new());
    let customer = server.customer("10.00");
    let refused = |value: Value, fields: &[&str]| {
        let body = fox_with(json!({"input_images_urls": value}));
        server
            .generation(&customer, "/url-generations", &body)
            .invalid(fields);
    };
    let url = "http://192.0.2.1/";
    refused(json!([]), &["input_images_urls"]);
    refused(json!(vec![url; 15]), &["input_images_urls"]);
    refused(json!(vec![url; 10_000]), &["input_images_urls"]);
    refused(json!([[url]]), &["input_images_urls[0]"]);
    refused(
        json!([{"url": url}, null]),
        &["input_images_urls[0]", "input_images_urls[1]"],
    );
    let long = format!("{url}{}", "a".repeat(65_536));
    for bad in [
        "ftp://192.0.2.1/",
        "HTTP://192.0.2.1/",
        "//192.0.2.1/",
        "file:///etc/passwd",
        "gopher://x",
        &long,
        "\0",
        "http://\0/",
    ] {
        refused(json!([bad]), &["input_images_urls[0]"]);
    }
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    server.assert_well();
}

#[test]
fn hostile_27_metadata() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let call = |metadata: Value| {
        server.generation(&customer, PATH, &fox_with(json!({"metadata": metadata})))
    };
    let members = |count: usize| -> Value {
        let pairs = (0..count).map(|at| (format!("k{at}"), json!(0)));
        Value::Object(pairs.collect())
    };
    call(members(1_000)).expect(202);
    call(members(10_000)).invalid(&["metadata"]);
    call(json!({"k".repeat(1_000_000): 1})).invalid(&["metadata"]);
    call(json!({"k": "x".repeat(100_000)})).invalid(&["metadata"]);
    for good in [
        json!({"": 1}),
        json!({"__proto__": {"x": 1}, "constructor": 1}),
        json!({"_": 1}),
        json!({"a": {"_b": {"_c": 1}}}),
        json!({"_a": 1, "_b": 2}),
    ] {
        call(good).expect(202);
    }
    server.assert_well();
}

#[test]
fn errors_list_the_fields_of_the_fast_model_without_resolution() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"size": "1K"}));
    for (path, is_listed) in [("/nb/text-generations", false), ("/text-generations", true)] {
        let answer = server.generation(&customer, path, &body).invalid(&["size"]);
        let message = answer.json()["errors"][0]["message"].clone();
        let message = message.as_str().unwrap().to_owned();
        assert_eq!(message.contains("resolution"), is_listed, "{message}");
    }
}
