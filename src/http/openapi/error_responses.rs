//! The error responses of the documents, from the table of codes.

use super::document_builder::component_reference;
use super::headers::Header;
use super::required_auth::RequiredAuth;
use crate::web::problem::Code;
use serde_json::{Map, Value, json};
use tintype_api::schema::words;

/// The errors of every call with this authentication.
pub fn common_codes(auth: RequiredAuth) -> &'static [Code] {
    match auth {
        RequiredAuth::None => &[Code::Internal, Code::Overloaded],
        RequiredAuth::ApiKey => &[
            Code::Unauthorized,
            Code::AddressNotAllowed,
            Code::RateLimited,
            Code::Internal,
            Code::Overloaded,
        ],
        RequiredAuth::AdminToken => &[Code::Unauthorized, Code::Internal, Code::Overloaded],
    }
}

/// A reference to the response for the errors of one status. Adds the description to the document once.
pub fn response(codes: &[Code], auth: RequiredAuth, responses: &mut Map<String, Value>) -> Value {
    let prefix = if auth == RequiredAuth::ApiKey {
        "Client"
    } else {
        ""
    };
    let name = codes
        .iter()
        .fold(prefix.to_owned(), |name, code| name + &camel(code.word()));
    if !responses.contains_key(&name) {
        responses.insert(name.clone(), describe_codes(codes, auth));
    }
    component_reference("responses", &name)
}

fn describe_codes(codes: &[Code], auth: RequiredAuth) -> Value {
    let Some(status) = codes.first().map(|code| code.status().as_u16()) else {
        return Value::Null;
    };
    let means = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.word(), meaning(*code)));
    let mut headers = vec![Header::REQUEST_ID, Header::CACHE_CONTROL];
    headers.extend(match status {
        401 => Some(Header::CHALLENGE),
        416 => Some(Header::WHOLE_RANGE),
        429 | 503 => Some(Header::RETRY_AFTER),
        _ => None,
    });
    // Unauthenticated calls are not counted.
    if auth == RequiredAuth::ApiKey && status != 401 {
        headers.extend([Header::RATE_LIMIT, Header::RATE_LIMIT_POLICY]);
    }
    let example = |code: &Code| {
        let name = code.word().to_owned();
        (
            name,
            json!({"summary": code.title(), "value": example(*code)}),
        )
    };
    json!({
        "description": means.collect::<Vec<_>>().join("\n\n"),
        "headers": headers.into_iter().map(Header::reference).collect::<Map<_, _>>(),
        "content": {"application/problem+json": {
            "schema": {
                "allOf": [component_reference("schemas", "Problem")],
                "properties": {
                    "status": {"const": status},
                    "code": {"enum": codes.iter().map(|code| code.word()).collect::<Vec<_>>()},
                },
            },
            "examples": codes.iter().map(example).collect::<Map<_, _>>(),
        }},
    })
}

/// The schema of every error.
pub fn problem() -> Value {
    json!({
        "type": "object",
        "description": "An error (RFC 9457). Distinguish errors by `code`, which never changes, not by `detail`, which is for people.",
        "properties": {
            "type": {"type": "string", "const": "about:blank"},
            "title": {"type": "string", "description": "The kind of error, for people."},
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": {"type": "string", "description": "What failed and what to do."},
            "code": {
                "description": "The stable identifier for programs.",
                "allOf": [words(Code::ALL.iter().map(|code| code.word()))],
            },
            "request_id": {"type": "string", "description": "Include it when you ask the operator for help."},
            "errors": {
                "type": "array",
                "description": "Only with `validation_failed`: all faulty fields.",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string", "description": "The path in the body, such as `input_images_urls[2]`, the name of a parameter or header, or `body`."},
                        "message": {"type": "string", "description": "What is wrong, and what is expected."},
                    },
                    "required": ["field", "message"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "additionalProperties": false,
    })
}

/// An example error of a code.
fn example(code: Code) -> Value {
    let mut body = json!({
        "type": "about:blank",
        "title": code.title(),
        "status": code.status().as_u16(),
        "detail": detail(code),
        "code": code.word(),
        "request_id": "80a496c0-53a5-4b0e-8f9d-0c7f2a6d1e3b",
    });
    if code == Code::ValidationFailed {
        body["errors"] = json!([{"field": "body", "message": "is not a well-formed JSON object: EOF while parsing an object at line 1 column 1"}]);
    }
    body
}

/// When a code is returned, and what to do.
fn meaning(code: Code) -> &'static str {
    match code {
        Code::Unauthorized => "credentials are missing, malformed, unknown, inactive or expired.",
        Code::InsufficientBalance => {
            "`available` does not cover the price. Ask the operator to add funds."
        }
        Code::KeyLimitReached => "a spend limit of the key does not cover the price.",
        Code::AccountLimitReached => {
            "the operator's spend limit of the account does not cover the price. Another key does not help; ask the operator, or wait for the next day or month (UTC)."
        }
        Code::ModelNotAllowed => "the key does not allow this model.",
        Code::AddressNotAllowed => "the key may not be used from this address.",
        Code::Forbidden => "this is not allowed.",
        Code::InvalidSignature => "this server did not sign the URL, or the URL was changed.",
        Code::UrlExpired => "the URL has expired. Get the job again for a new one.",
        Code::NotFound => "it does not exist or belongs to another account.",
        Code::MethodNotAllowed => "the path does not support the method; see `Allow`.",
        Code::RequestTimeout => "the body arrived too slowly.",
        Code::Conflict => "the current state does not allow the request.",
        Code::Gone => "the image was removed when its retention ended.",
        Code::PayloadTooLarge => "the body is too large.",
        Code::UnsupportedMediaType => {
            "the call does not accept the media type of the body, or the body has a `Content-Encoding`."
        }
        Code::RangeNotSatisfiable => "the range is outside the file.",
        Code::ValidationFailed => "the request is invalid; `errors` lists every faulty field.",
        Code::IdempotencyKeyReused => "the idempotency key belongs to another request.",
        Code::RateLimited => {
            "too many calls or unfinished jobs of this key or account, or a second test delivery within a minute. Wait for `Retry-After` seconds."
        }
        Code::Internal => "an internal error. Report the `request_id` to the operator.",
        Code::StorageUnavailable => {
            "the object store failed. Retry the call, with the same `Idempotency-Key` if it has one."
        }
        Code::Paused => {
            "no new jobs are accepted for now. Retry the call after `Retry-After` with the same `Idempotency-Key`."
        }
        Code::Overloaded => {
            "the service is overloaded or about to restart. Retry the call after `Retry-After`."
        }
    }
}

/// An example `detail`.
fn detail(code: Code) -> &'static str {
    match code {
        Code::Unauthorized => "send the header `Authorization: Bearer <API_KEY>`",
        Code::InsufficientBalance => {
            "the available balance of 0.01 USD does not cover the price of 0.134 USD; add funds to the account"
        }
        Code::KeyLimitReached => {
            "the API key has a spend limit of 5.00 USD in total, of which 4.958 USD is spent or held; the price is 0.134 USD; raise it, or use another key"
        }
        Code::AccountLimitReached => {
            "the account has a spend limit of 50.00 USD a day (UTC), of which 49.90 USD is spent or held; the price is 0.134 USD; wait for the next day, \
             or ask the operator to raise it"
        }
        Code::ModelNotAllowed => "this API key is not scoped for the pro model",
        Code::AddressNotAllowed => "the API key may not be used from 198.51.100.7",
        Code::Forbidden => "this is not allowed",
        Code::InvalidSignature => "the address is not one that this server has signed",
        Code::UrlExpired => "the address has expired; look the job up again for a new one",
        Code::NotFound => "there is no such job",
        Code::MethodNotAllowed => "this path takes GET, HEAD",
        Code::RequestTimeout => "the body did not arrive within 30 s",
        Code::Conflict => "the job is already done",
        Code::Gone => "the image was removed when its retention ended",
        Code::PayloadTooLarge => "the body may have at most 1048576 bytes",
        Code::UnsupportedMediaType => "send the body as `Content-Type: application/json`",
        Code::RangeNotSatisfiable => "the range lies outside the file, which has 1048576 bytes",
        Code::ValidationFailed => {
            "body: is not a well-formed JSON object: EOF while parsing an object at line 1 column 1"
        }
        Code::IdempotencyKeyReused => "this idempotency key was used for another request",
        Code::RateLimited => "too many calls with this API key",
        Code::Internal => {
            "the service failed to process the call; report the request id to its operator"
        }
        Code::StorageUnavailable => "the request could not be stored; try again",
        Code::Paused => {
            "the pro model is paused (new weights until 14:00); try again later with the same Idempotency-Key"
        }
        Code::Overloaded => {
            "the queue of the service is full; try again later with the same Idempotency-Key"
        }
    }
}

fn camel(word: &str) -> String {
    word.split('_')
        .map(|part| {
            let mut letters = part.chars();
            let first = letters.next().map(|it| it.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect()
}
