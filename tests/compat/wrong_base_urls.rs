//! SDKs with a wrong base URL get an error that they can show, with the right one.

use crate::fixture::{ResponseAssertions, fox};
use crate::support::Server;
use crate::support::http::Request;
use serde_json::json;

const OPENAI: (&str, &str) = ("user-agent", "AsyncOpenAI/Python 3.54.0");
const GOOGLE: (&str, &str) = (
    "x-goog-api-client",
    "google-genai-sdk/3.4.0 gl-python/3.11.7",
);

fn from(request: Request, sdk: (&str, &str)) -> Request {
    request.header(sdk.0, sdk.1)
}

#[test]
fn openai_is_told_to_end_the_base_url_with_v1() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for prefix in ["", "/api/v1", "/v1beta/openai", "/v1/v1", "/openai"] {
        for path in ["/images/generations", "/chat/completions"] {
            let path = format!("{prefix}{path}");
            let call = server.post(&path).bearer(&customer.key).json(&json!({}));
            let said = from(call, OPENAI).send();
            let said = said.assert_openai_error(404, "invalid_request_error", Some("unknown_url"));
            assert!(said.contains(&path), "{said}");
            assert!(said.contains("https://pictures.example/v1"), "{said}");
        }
    }
    for path in ["/models", "/files"] {
        let call = server.get(path).bearer(&customer.key);
        from(call, OPENAI).send().assert_openai_error(
            404,
            "invalid_request_error",
            Some("unknown_url"),
        );
    }
}

#[test]
fn google_is_told_to_leave_the_path_out_of_the_base_url() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (prefix, status, code, advice) in [
        ("/api/v1", 401, "UNAUTHENTICATED", "without /api"),
        ("/api/v1/v1beta", 401, "UNAUTHENTICATED", "without /api"),
        ("/v1beta/v1", 404, "NOT_FOUND", "without /api"),
        ("/v1beta1/publishers/google", 404, "NOT_FOUND", "`vertexai`"),
        ("/publishers/google", 404, "NOT_FOUND", "`enterprise`"),
    ] {
        let call = server.post(&format!("{prefix}/models/fast:generateContent"));
        let call = call.header("x-goog-api-key", &customer.key).json(&fox());
        let said = from(call, GOOGLE).send().json();
        let error = &said["error"];
        assert_eq!(error["code"], status, "{said}");
        assert_eq!(error["status"], code, "{said}");
        assert!(
            error["message"].as_str().unwrap().contains(advice),
            "{said}"
        );
    }
}

#[test]
fn other_programs_are_told_by_the_path_that_they_call() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |path: &str| {
        let call = server.post(path).bearer(&customer.key).json(&json!({}));
        call.expect(404).json()["error"].clone()
    };
    for (path, advice) in [
        ("/images/generations", "https://pictures.example/v1"),
        ("/api/v1/images/edits", "https://pictures.example/v1"),
        ("//v1/images/generations", "two slashes"),
        ("/models/pro:generateContent", "without /api"),
        ("/interactions", "without /api"),
        ("//v1beta/models/pro:generateContent", "two slashes"),
    ] {
        let error = call(path);
        let message = error["message"].as_str().expect(path);
        assert!(message.contains(advice), "{path}: {error}");
    }
    assert!(call("/images/generation").is_null());
}

#[test]
fn other_callers_and_right_base_urls_get_the_usual_errors() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = || server.get("/api/v1/images").bearer(&customer.key);
    let said = call().refused(404, "not_found").json();
    assert!(said.get("error").is_none(), "{said}");
    // The usual error keeps its format, with a member more.
    let said = from(call(), OPENAI).expect(404);
    assert_eq!(
        said.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(said.json()["code"], "not_found");
    assert_eq!(said.json()["error"]["code"], "unknown_url");
    let said = from(server.get("/api/v1/images"), GOOGLE).expect(401);
    assert_eq!(said.json()["code"], "unauthorized");
    assert_eq!(said.json()["error"]["code"], 401);
    // Clients of the native interface call its paths, whatever their names are.
    let found = from(server.get("/api/v1/balance").bearer(&customer.key), OPENAI);
    found.expect(200);
    let poor = server.customer("0.00");
    let body = json!({"prompt": "a red fox", "aspect_ratio": "1:1"});
    let call = server.post("/api/v1/text-generations").bearer(&poor.key);
    from(call.json(&body), OPENAI).refused(402, "insufficient_balance");
    let said = server.post("/v1/chat/completions").bearer(&customer.key);
    let said = from(said.json(&json!({})), OPENAI).send();
    let said = said.assert_openai_error(404, "invalid_request_error", Some("unknown_url"));
    assert!(said.contains("/v1/images/generations"), "{said}");
}
