//! Specification, "Errors", "Synchronous compatible interface": a test for each row and each reason in it.

use crate::fixture::{ResponseAssertions, fox, with_image};
use crate::support::raw::Wire;
use crate::support::{Behaviour, OneNode, Options, Server, merge};
use serde_json::json;

#[test]
fn row_400_invalid_argument_an_invalid_key() {
    let server = Server::start();
    let answer = server
        .gemini_without_key("fast", &fox())
        .header("x-goog-api-key", "bad")
        .send();
    answer.assert_google_error(400, "INVALID_ARGUMENT");
}

#[test]
fn row_400_invalid_argument_a_malformed_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"contents":7}"#,
        "\u{feff}{}",
    ] {
        let answer = server
            .post("/v1beta/models/fast:generateContent")
            .header("x-goog-api-key", &customer.key)
            .text(text)
            .send();
        answer.assert_google_error(400, "INVALID_ARGUMENT");
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn row_400_invalid_argument_an_unsupported_image_size() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (model, size) in [
        ("fast", "2K"),
        ("fast", "4K"),
        ("pro", "512"),
        ("pro", "2k"),
        ("quality", "8K"),
    ] {
        let mut body = fox();
        merge(
            &mut body,
            json!({"generationConfig": {"imageConfig": {"imageSize": size}}}),
        );
        let answer = server.gemini(&customer, model, &body).send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(said.contains("imageSize"), "{said}");
        let details = answer.json()["error"]["details"].clone();
        let field = &details[0]["fieldViolations"][0]["field"];
        assert_eq!(field, "generationConfig.imageConfig.imageSize");
    }
}

#[test]
fn row_400_invalid_argument_a_body_over_200_mb() {
    let server = Server::start();
    let customer = server.customer("1.00");
    // With Content-Length: refused before the body is sent.
    let head = format!(
        "POST /v1beta/models/fast:generateContent HTTP/1.1\r\nHost: a\r\nx-goog-api-key: {}\r\n",
        customer.key
    );
    let mut wire = Wire::open(server.address);
    wire.send(format!("{head}Content-Length: 200000001\r\n\r\n").as_bytes());
    let piece = vec![b' '; 1_000_000];
    for _ in 0..200 {
        wire.send(&piece);
    }
    wire.send(b" ");
    let said = wire.answer_to("POST").expect("an answer");
    let said = said.assert_google_error(400, "INVALID_ARGUMENT");
    assert!(said.contains("200000000"), "{said}");
    // Without Content-Length: counted while the body arrives.
    let said = chunked(&server, &head, 200_000_001);
    assert!(said.contains("200000000"), "{said}");
    // A body of exactly the maximum size is accepted, and the image is refused.
    let said = chunked(&server, &head, 200_000_000);
    assert!(said.contains("inlineData.data is not a PNG"), "{said}");
    assert!(server.objects_left().is_empty());
}

/// Sends a body of this many bytes with chunked encoding.
fn chunked(server: &Server, head: &str, bytes: usize) -> String {
    const BEGIN: &str = r#"{"contents":[{"parts":[{"text":"a"},{"inlineData":{"data":""#;
    const END: &str = r#""}}]}]}"#;
    let data = bytes - BEGIN.len() - END.len();
    // Base64 has groups of four; spaces at the end fill the rest.
    let (data, blanks) = (data - data % 4, data % 4);
    let mut wire = Wire::open(server.address);
    wire.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
    let mut send = |piece: &[u8]| {
        wire.send(format!("{:x}\r\n", piece.len()).as_bytes());
        wire.send(piece);
        wire.send(b"\r\n");
    };
    send(BEGIN.as_bytes());
    let piece = vec![b'A'; 1_000_000];
    for at in (0..data).step_by(piece.len()) {
        send(&piece[..piece.len().min(data - at)]);
    }
    send(format!("{END}{}", " ".repeat(blanks)).as_bytes());
    send(b"");
    let answer = wire.answer_to("POST").expect("an answer");
    answer.assert_google_error(400, "INVALID_ARGUMENT")
}

#[test]
fn row_400_invalid_argument_a_request_that_the_backend_rejects() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let why = "no images of that";
    for behaviour in [Behaviour::Refuse(why), Behaviour::NotAsk(why)] {
        server.generator.behave(behaviour);
        let answer = server.gemini(&customer, "fast", &fox()).send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert_eq!(said, why);
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn row_403_permission_denied_a_missing_key() {
    let server = Server::start();
    let answer = server.gemini_without_key("fast", &fox()).send();
    answer.assert_google_error(403, "PERMISSION_DENIED");
}

#[test]
fn row_403_permission_denied_a_model_out_of_scope() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast"]}));
    for model in ["pro", "gemini-3-pro-image", "gemini-3.1-flash-image"] {
        let answer = server.gemini(&customer, model, &fox()).send();
        let said = answer.assert_google_error(403, "PERMISSION_DENIED");
        assert!(said.contains(model), "{said}");
    }
    server.gemini(&customer, "fast", &fox()).expect(200);
}

#[test]
fn row_404_not_found_an_unknown_model() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for model in ["gemini-1.0-pro", "google/pro", "PRO", "%00", "..%2fpro"] {
        let answer = server.gemini(&customer, model, &fox()).send();
        let said = answer.assert_google_error(404, "NOT_FOUND");
        assert!(
            said.contains("is not found for API version v1beta"),
            "{said}"
        );
    }
}

#[test]
fn row_404_not_found_unknown_paths_and_methods() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for version in ["v1", "v1beta", "v1alpha"] {
        for (method, path) in [
            ("POST", "/models/pro:batchGenerateContent"),
            ("POST", "/models/pro:predict"),
            ("POST", "/models/pro"),
            ("POST", "/models/:generateContent"),
            ("GET", "/models/pro:generateContent"),
            ("PUT", "/models/pro:generateContent"),
            ("DELETE", "/models"),
            ("POST", "/models"),
            ("GET", "/files"),
            ("PUT", "/interactions"),
            ("GET", "/interactions"),
            ("PATCH", "/interactions/a"),
            ("POST", "/interactions/a/resume"),
            ("POST", "/agents"),
            ("GET", ""),
            ("GET", "/"),
            ("GET", "/models/"),
        ] {
            let answer = server
                .call(method, &format!("/{version}{path}"))
                .header("x-goog-api-key", &customer.key)
                .send();
            answer.assert_google_error(404, "NOT_FOUND");
        }
    }
    server.get("/v2/models").refused(404, "not_found");
}

#[test]
fn row_404_not_found_says_what_to_do_instead() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (method, path, instead) in [
        ("POST", "/upload/v1beta/files", "inlineData"),
        ("POST", "/upload/v1/files", "inlineData"),
        ("GET", "/v1beta/files", "inlineData"),
        ("GET", "/v1/files/a", "inlineData"),
        ("POST", "/v1beta/files:register", "inlineData"),
        ("POST", "/v1beta/cachedContents", "each request"),
        ("GET", "/v1beta/batches/a", "/api/v1/batches"),
        (
            "POST",
            "/v1beta/models/pro:batchGenerateContent",
            "/api/v1/batches",
        ),
        ("POST", "/v1beta/models/pro:embedContent", "generateContent"),
        ("GET", "/v1beta/interactions", "/v1beta/interactions"),
        ("POST", "/v1beta/agents", "generateContent"),
        ("POST", "/v1beta/tunedModels", "/v1beta/models"),
    ] {
        let call = server.call(method, path);
        let answer = call.header("x-goog-api-key", &customer.key).send();
        let said = answer.assert_google_error(404, "NOT_FOUND");
        assert!(said.contains(path) && said.contains(instead), "{said}");
    }
    server.get("/upload").refused(404, "not_found");
}

#[test]
fn row_503_unavailable_the_project_or_the_model_is_paused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for what in ["project", "fast"] {
        server.pause(&[what]);
        let answer = server.gemini(&customer, "fast", &fox()).send();
        let said = answer.assert_google_error(503, "UNAVAILABLE");
        assert!(said.contains("paused"), "{said}");
        assert!(answer.header("retry-after").is_some());
        let details = answer.json()["error"]["details"].clone();
        assert_eq!(details[0]["retryDelay"], "30s");
    }
    server.gemini(&customer, "pro", &fox()).expect(200);
}

#[test]
fn row_503_unavailable_no_capacity() {
    let options = Options::new().one_node(OneNode::LiveJobsInAll);
    let server = Server::with(options.set("jobs.max_live", 1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let answer = server.gemini(&customer, "fast", &fox()).send();
    answer.assert_google_error(503, "UNAVAILABLE");
    server.generator.release_all();
    first.join().unwrap().image();
}

#[test]
fn row_503_unavailable_an_unreachable_backend() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .generator
        .behave(Behaviour::Transient("nobody answers"));
    let answer = server.gemini(&customer, "fast", &fox()).send();
    let said = answer.assert_google_error(503, "UNAVAILABLE");
    assert_eq!(said, "nobody answers");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn row_503_unavailable_after_a_storage_failure() {
    let server = Server::with(Options::new().one_node(OneNode::Alone));
    let customer = server.customer("1.00");
    server.generator.hold();
    let waiting = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    server.inside().fail_stop.trip("a test");
    for answer in [
        waiting.join().unwrap(),
        server.gemini(&customer, "fast", &fox()).send(),
        server.get("/v1/models").send(),
        server.get("/v1beta/nothing").send(),
    ] {
        answer.assert_google_error(503, "UNAVAILABLE");
    }
    let answer = server.openai(&customer, &json!({"prompt": "a fox"})).send();
    answer.assert_openai_error(503, "server_error", Some("unavailable"));
    server.get("/api/v1/balance").refused(503, "overloaded");
}

#[test]
fn row_504_deadline_exceeded_a_run_that_takes_too_long() {
    let server = Server::with(Options::new().set("jobs.timeout_seconds", 1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let answer = server.gemini(&customer, "fast", &fox()).send();
    answer.assert_google_error(504, "DEADLINE_EXCEEDED");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn row_500_internal_a_backend_that_returns_garbage() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for behaviour in [
        Behaviour::Garbage,
        Behaviour::Break("the backend is broken"),
        Behaviour::Panic,
    ] {
        server.generator.behave(behaviour);
        let answer = server.gemini(&customer, "fast", &fox()).send();
        answer.assert_google_error(500, "INTERNAL");
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn row_429_resource_exhausted_a_balance_that_is_too_low() {
    let server = Server::start();
    let poor = server.customer("0.03");
    let limited = server.customer_with("9.00", json!({"spend_limit": "0.03"}));
    let daily = server.customer_with("9.00", json!({"spend_limit_daily": "0.03"}));
    for customer in [&poor, &limited, &daily] {
        let answer = server.gemini(customer, "fast", &fox()).send();
        let said = answer.assert_google_error(429, "RESOURCE_EXHAUSTED");
        assert!(said.contains("0.039"), "{said}");
        let answer = server.gemini(customer, "fast", &with_image("AAAA")).send();
        answer.assert_google_error(429, "RESOURCE_EXHAUSTED");
    }
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn row_429_resource_exhausted_too_many_jobs_of_the_account() {
    let server = Server::with(Options::new().set("jobs.max_live_per_account", 1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let answer = server.gemini(&customer, "fast", &fox()).send();
    answer.assert_google_error(429, "RESOURCE_EXHAUSTED");
    assert!(answer.header("retry-after").is_some());
    server.generator.release_all();
    first.join().unwrap().image();
}

/// Not an error: 200, one candidate, no content, no charge.
#[test]
fn a_prompt_blocked_for_safety_is_answered_200_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.behave(Behaviour::Block("violence"));
    let answer = server.gemini(&customer, "fast", &fox()).expect(200).json();
    let candidates = answer["candidates"].as_array().expect("candidates");
    assert_eq!(candidates.len(), 1);
    assert_eq!(candidates[0]["finishReason"], "IMAGE_SAFETY");
    assert!(candidates[0].get("content").is_none(), "{answer}");
    assert_eq!(answer["usageMetadata"]["candidatesTokenCount"], 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    let job = server.job(&customer, answer["responseId"].as_str().unwrap());
    assert_eq!(job["status"], "failed");
    assert_eq!(job["error"], "blocked for safety: violence");
    server.assert_settled();
}
