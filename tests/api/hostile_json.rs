//! Hostile JSON, 19 to 27.

use crate::support::{Answer, Customer, ENDPOINTS, Options, Server, fox_with};
use serde_json::{Value, json};

const PATH: &str = "/text-generations";

fn send(server: &Server, customer: &Customer, body: &[u8]) -> Answer {
    let call = server.native(customer, "POST", PATH);
    call.bytes("application/json", body).send()
}

/// Demands a 422 in the form that every one has, and returns the fields that it names.
#[track_caller]
fn faults(server: &Server, customer: &Customer, body: &[u8]) -> Vec<String> {
    let answer = send(server, customer, body);
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    assert_eq!(answer.status, 422, "{shown}: {}", answer.text());
    answer.assert_problem(422, "validation_failed");
    answer.faulty_fields()
}

/// A valid body with one more member, as text.
fn with(member: &str) -> String {
    format!("{{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\",{member}}}")
}

#[test]
fn hostile_19_depth() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for depth in [33, 127, 128, 129, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let middle = if open == "[" { "" } else { "1" };
            let nested = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            let unclosed = open.repeat(depth);
            assert_eq!(faults(&server, &customer, unclosed.as_bytes()), ["body"]);
            if open == "[" {
                assert_eq!(faults(&server, &customer, nested.as_bytes()), ["body"]);
            }
            for field in [
                "prompt",
                "aspect_ratio",
                "resolution",
                "callback_url",
                "unknown",
            ] {
                let body = format!("{{\"{field}\":{nested}}}");
                let named = faults(&server, &customer, body.as_bytes());
                assert!(
                    named.iter().any(|it| it == field),
                    "{depth} {field}: {named:?}"
                );
            }
            let metadata = with(&format!("\"metadata\":{{\"m\":{nested}}}"));
            let named = faults(&server, &customer, metadata.as_bytes());
            assert!(
                named.len() == 1 && named[0].starts_with("metadata.m"),
                "{named:?}"
            );
        }
    }
    server.assert_well();
}

#[test]
fn hostile_20_duplicate_keys() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (body, field) in [
        (with("\"prompt\":\"b\""), "prompt"),
        (with("\"\\u0070rompt\":\"b\""), "prompt"),
        (with("\"metadata\":{\"a\":1,\"a\":1}"), "metadata.a"),
        (with("\"metadata\":{\"\":1,\"\":1}"), "metadata."),
        (with("\"metadata\":{\"é\":1,\"\\u00e9\":1}"), "metadata.é"),
        (with("\"metadata\":[{\"a\":1,\"a\":1}]"), "metadata"),
    ] {
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            [field],
            "{body}"
        );
    }
    let many: String = (0..20_000).map(|_| "\"prompt\":1,").collect();
    let body = format!("{{{many}\"prompt\":1}}");
    assert!(faults(&server, &customer, body.as_bytes()).len() <= 101);
    // The same letters composed and decomposed are two names.
    let body = with("\"metadata\":{\"\u{e9}\":1,\"e\u{301}\":1}");
    assert_eq!(send(&server, &customer, body.as_bytes()).status, 202);
    server.assert_well();
}

#[test]
fn hostile_21_numbers() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let digits = "9".repeat(400);
    for number in [
        "1e400",
        "-1e400",
        "1e999999999999",
        &digits,
        &format!("1{digits}.5"),
    ] {
        let body = with(&format!("\"metadata\":{{\"n\":{number}}}"));
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["metadata.n"],
            "{number}"
        );
    }
    let small = format!("0.{}1", "0".repeat(400));
    for number in [
        "-0",
        "-0.0",
        "1.0",
        "1",
        "9007199254740993",
        "18446744073709551616",
        "1e-400",
        &small,
        "1E+2",
        "0e0",
    ] {
        let body = with(&format!("\"metadata\":{{\"n\":{number}}}"));
        assert_eq!(
            send(&server, &customer, body.as_bytes()).status,
            202,
            "{number}"
        );
    }
    for malformed in [
        "01", "+1", "1.", ".1", "1e", "0x1", "1_000", "--1", "Infinity", "-", "1e+",
    ] {
        let body = with(&format!("\"metadata\":{{\"n\":{malformed}}}"));
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["body"],
            "{malformed}"
        );
    }
    for wrong in ["1e400", "-0", &digits] {
        let body = with(&format!("\"resolution\":{wrong}"));
        assert_eq!(faults(&server, &customer, body.as_bytes()), ["resolution"]);
    }
    server.assert_well();
}

#[test]
fn hostile_22_characters() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let prompt = |text: &str| format!("{{\"prompt\":\"{text}\",\"aspect_ratio\":\"1:1\"}}");
    for lone in [
        "\\ud800",
        "\\udc00",
        "\\udc00\\ud800",
        "a\\ud83db",
        "\\ud83d\\u0041",
    ] {
        assert_eq!(
            faults(&server, &customer, prompt(lone).as_bytes()),
            ["prompt"],
            "{lone}"
        );
        let body = with(&format!("\"metadata\":{{\"m\":[\"{lone}\"]}}"));
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["metadata.m[0]"]
        );
        let body = with(&format!("\"{lone}\":1"));
        assert_eq!(faults(&server, &customer, body.as_bytes()), ["body"]);
        let body = with(&format!("\"metadata\":{{\"{lone}\":1}}"));
        let named = faults(&server, &customer, body.as_bytes());
        assert!(
            named.len() == 1 && named[0].starts_with("metadata"),
            "{named:?}"
        );
    }
    for (raw, what) in [
        (
            &b"{\"prompt\":\"a\0\",\"aspect_ratio\":\"1:1\"}"[..],
            "a raw NUL",
        ),
        (
            b"{\"prompt\":\"a\nb\",\"aspect_ratio\":\"1:1\"}",
            "a raw line feed",
        ),
        (
            b"{\"prompt\":\"\xc0\xaf\",\"aspect_ratio\":\"1:1\"}",
            "an overlong slash",
        ),
        (
            b"{\"prompt\":\"\xed\xa0\x80\",\"aspect_ratio\":\"1:1\"}",
            "a surrogate in UTF-8",
        ),
        (
            b"{\"prompt\":\"\xf5\x80\x80\x80\",\"aspect_ratio\":\"1:1\"}",
            "past U+10FFFF",
        ),
        (
            b"{\"prompt\":\"\xff\",\"aspect_ratio\":\"1:1\"}",
            "no UTF-8 at all",
        ),
        (
            b"\xef\xbb\xbf{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\"}",
            "a byte order mark",
        ),
        (b"\xff\xfe{\0}\0", "UTF-16"),
    ] {
        assert_eq!(faults(&server, &customer, raw), ["body"], "{what}");
    }
    for (written, read) in [
        ("\\u0000a", "a"),
        ("\u{2028}", "\u{2028}"),
        ("\\u2028", "\u{2028}"),
        ("\\ud83e\\udd8a", "🦊"),
        ("\u{7f}\u{feff}", "\u{7f}\u{feff}"),
        ("\\/\\b\\f", "/\u{8}\u{c}"),
    ] {
        let answer = send(&server, &customer, prompt(written).as_bytes());
        server.job_once(&customer, &answer.job_id(), "done");
        assert_eq!(server.generator.orders().pop().unwrap().prompt, read);
    }
    server.assert_well();
}

#[test]
fn hostile_23_what_is_not_one_object() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for body in [
        "",
        " \t\r\n",
        "null",
        "[]",
        "\"x\"",
        "1",
        "true",
        "{\"prompt\":\"a\",}",
        "{,}",
        "{\"prompt\" \"a\"}",
        "{'prompt':'a'}",
        "{prompt:\"a\"}",
        "{\"prompt\":NaN}",
        "{\"prompt\":undefined}",
        "{} {}",
        "{}x",
        "/* */{}",
        "{}//",
        "{\"a\":1}}",
        "{\"a\":[1}",
        "{\"prompt\":\"a",
        "{\"prompt\":\"\\",
        "{\"prompt\":\"\\u12",
        "{\"prompt\":\"\\x41\"}",
        "[{}]",
    ] {
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["body"],
            "{body}"
        );
    }
    server.assert_well();
}

#[test]
fn hostile_24_prompts() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let prompt = |text: &str| fox_with(json!({"prompt": text})).to_string();
    for empty in ["", "\0", "\0\0"] {
        assert_eq!(
            faults(&server, &customer, prompt(empty).as_bytes()),
            ["prompt"]
        );
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
        let answer = send(&server, &customer, prompt(odd).as_bytes());
        server.job_once(&customer, &answer.job_id(), "done");
        assert_eq!(server.generator.orders().pop().unwrap().prompt, odd);
    }
    let long = format!("{longest}é");
    assert_eq!(
        faults(&server, &customer, prompt(&long).as_bytes()),
        ["prompt"]
    );
    let answer = send(
        &server,
        &customer,
        prompt(&"x".repeat(16_000_000)).as_bytes(),
    );
    answer.assert_problem(413, "payload_too_large");
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
