//! Requests of SDKs and other programs whose base URL is wrong. They miss the paths of the synchronous APIs, and show nothing of an error
//! in the format of the native one: so the response also has a member `error` in the format of their API, which says what the base URL
//! should be.

use super::dialect::Dialect;
use super::refusal::{Kind, Refusal};
use crate::web::problem::{Code, Problem};
use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap};
use serde_json::{Value, json};

const GOOGLE_CLIENT: &str = "x-goog-api-client";
const OPENAI_CALLS: [&str; 5] = [
    "/images/generations",
    "/images/edits",
    "/images/variations",
    "/chat/completions",
    "/responses",
];
const GEMINI_CALLS: [&str; 5] = [
    ":generateContent",
    ":streamGenerateContent",
    ":countTokens",
    ":predict",
    "/interactions",
];
const VERSIONS: [&str; 3] = ["v1", "v1beta", "v1alpha"];

/// The SDK that sent a request, if it says so.
pub fn sdk_of(headers: &HeaderMap) -> Option<Dialect> {
    let has = |name: &str, product: &str| {
        let value = headers.get(name).and_then(|it| it.to_str().ok());
        value.is_some_and(|it| it.contains(product))
    };
    // The Python SDK with asyncio calls itself `AsyncOpenAI/Python`.
    if has(header::USER_AGENT.as_str(), "OpenAI/") {
        return Some(Dialect::OpenAi);
    }
    has(GOOGLE_CLIENT, "google-genai-sdk/").then_some(Dialect::Gemini)
}

/// The dialect of a call that other programs than the SDKs send to a path of one of the synchronous APIs, below a wrong base URL.
fn dialect_of_call(request: &HttpRequest) -> Option<Dialect> {
    let path = request.path();
    let is_any = |calls: &[&str]| calls.iter().any(|it| path.ends_with(it));
    if is_any(&OPENAI_CALLS) {
        return Some(Dialect::OpenAi);
    }
    is_any(&GEMINI_CALLS).then_some(Dialect::Gemini)
}

/// The base URL to use, if the path shows that another one is configured.
pub fn base_url_advice(dialect: Dialect, path: &str) -> Option<&'static str> {
    if path.starts_with("//") {
        return Some(
            "the path begins with two slashes; remove the slash at the end of the base URL",
        );
    }
    let mut segments = path.trim_start_matches('/').split('/');
    let (first, second) = (segments.next()?, segments.next().unwrap_or_default());
    let is_right = match dialect {
        Dialect::OpenAi => first == "v1" && second != "v1",
        Dialect::Gemini => {
            first == "upload" || VERSIONS.contains(&first) && !VERSIONS.contains(&second)
        }
    };
    if is_right {
        return None;
    }
    Some(match (dialect, first) {
        (Dialect::OpenAi, _) => {
            "set the base URL of the SDK to the address of this service with /v1 at its end, such as https://pictures.example/v1"
        }
        (Dialect::Gemini, "v1beta1" | "projects" | "publishers") => {
            "Vertex AI is not supported; create the client without `enterprise` and `vertexai`"
        }
        (Dialect::Gemini, _) => {
            "set the base URL of the SDK to the address of this service without /api and without a version, such as https://pictures.example; the SDK appends the version"
        }
    })
}

/// The error for an SDK or program that called a path outside of the synchronous APIs, in its format.
pub fn error(request: &HttpRequest, problem: &Problem) -> Option<Value> {
    let (method, path) = (request.method(), request.path());
    let status = match problem.code {
        Code::NotFound => "NOT_FOUND",
        Code::MethodNotAllowed => "UNIMPLEMENTED",
        // Below `/api/v1`, a request with a key in the way of Google's SDKs lacks credentials.
        Code::Unauthorized => "UNAUTHENTICATED",
        _ => return None,
    };
    let dialect = sdk_of(request.headers()).or_else(|| dialect_of_call(request))?;
    let advice = base_url_advice(dialect, path)?;
    let message = format!("unknown path: {method} {path}; {advice}");
    Some(match dialect {
        Dialect::OpenAi => dialect.body(&Refusal::new(Kind::NotFound, message))["error"].take(),
        Dialect::Gemini => {
            json!({"code": problem.code.status().as_u16(), "message": message, "status": status})
        }
    })
}
