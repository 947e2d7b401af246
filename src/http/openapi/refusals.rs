//! Errors in the documents, from the one table of codes.

use super::door::Door;
use super::headers::Header;
use super::sketch::reference;
use crate::web::problem::Code;
use serde_json::{Map, Value, json};
use tintype_api::schema::words;

/// What everything behind a door may answer, whatever is called.
pub fn behind(door: Door) -> &'static [Code] {
    match door {
        Door::Anyone => &[Code::Internal, Code::Overloaded],
        Door::Client => &[
            Code::Unauthorized,
            Code::AddressNotAllowed,
            Code::RateLimited,
            Code::Internal,
            Code::Overloaded,
        ],
        Door::Operator => &[Code::Unauthorized, Code::Internal, Code::Overloaded],
    }
}

/// The answer for the errors of one status, as a reference. Its description is put into the document once.
pub fn response(codes: &[Code], door: Door, responses: &mut Map<String, Value>) -> Value {
    let told = if door == Door::Client { "Client" } else { "" };
    let name = codes
        .iter()
        .fold(told.to_owned(), |name, code| name + &camel(code.word()));
    if !responses.contains_key(&name) {
        responses.insert(name.clone(), described(codes, door));
    }
    reference("responses", &name)
}

fn described(codes: &[Code], door: Door) -> Value {
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
    // Who has not shown a key is not counted.
    if door == Door::Client && status != 401 {
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
        "headers": headers.into_iter().map(Header::written).collect::<Map<_, _>>(),
        "content": {"application/problem+json": {
            "schema": {
                "allOf": [reference("schemas", "Problem")],
                "properties": {
                    "status": {"const": status},
                    "code": {"enum": codes.iter().map(|code| code.word()).collect::<Vec<_>>()},
                },
            },
            "examples": codes.iter().map(example).collect::<Map<_, _>>(),
        }},
    })
}

/// The form that every error has.
pub fn problem() -> Value {
    json!({
        "type": "object",
        "description": "An error, as RFC 9457 has it. Tell errors apart by `code`, which never changes, and not by `detail`, which is for people.",
        "properties": {
            "type": {"type": "string", "const": "about:blank"},
            "title": {"type": "string", "description": "What kind of error, for people."},
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": {"type": "string", "description": "What was wrong this time, and what to do."},
            "code": {
                "description": "The stable word for programs.",
                "allOf": [words(Code::ALL.iter().map(|code| code.word()))],
            },
            "request_id": {"type": "string", "description": "Tell it to the operator when you ask for help."},
            "errors": {
                "type": "array",
                "description": "Only with `validation_failed`: every faulty field, not the first alone.",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string", "description": "Its path in the body such as `input_images_urls[2]`, the name of a parameter or header, or `body`."},
                        "message": {"type": "string", "description": "What is wrong with it, and what would be right."},
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

/// An error of a code, as it may look.
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

/// When a code is answered, and what to do.
fn meaning(code: Code) -> &'static str {
    match code {
        Code::Unauthorized => "credentials are missing, malformed, unknown, inactive or expired.",
        Code::InsufficientBalance => "`available` does not cover the price. Have money added.",
        Code::KeyLimitReached => "a spend limit of the key does not cover the price.",
        Code::AccountLimitReached => {
            "a spend limit that the operator has set for the account does not cover the price. Another key does not help; ask the operator, or wait for the next day or month (UTC)."
        }
        Code::ModelNotAllowed => "the key is not scoped for this model.",
        Code::AddressNotAllowed => "the key may not be used from this address.",
        Code::Forbidden => "this is not allowed.",
        Code::InvalidSignature => {
            "the address was not written by this server, or was changed since."
        }
        Code::UrlExpired => "the address has expired. Look the job up again for a new one.",
        Code::NotFound => {
            "there is no such thing, or it belongs to another account; the two are not told apart."
        }
        Code::MethodNotAllowed => "the path has no such method; see `Allow`.",
        Code::RequestTimeout => "the body came too slowly.",
        Code::Conflict => "what is asked for does not go with the present state.",
        Code::Gone => "the picture was removed when its retention ended.",
        Code::PayloadTooLarge => "the body is too large.",
        Code::UnsupportedMediaType => {
            "the body is not of a type that the call takes, or has a `Content-Encoding`."
        }
        Code::RangeNotSatisfiable => "the range lies outside the file.",
        Code::ValidationFailed => {
            "something that was sent is wrong; `errors` names every faulty field."
        }
        Code::IdempotencyKeyReused => "the idempotency key belongs to another request.",
        Code::RateLimited => {
            "too many calls with this key or of this account, too many jobs of either that are not over, or a second test delivery within a minute. Wait for `Retry-After` seconds."
        }
        Code::Internal => "a fault of the service. Tell its operator the `request_id`.",
        Code::StorageUnavailable => {
            "the object store failed. Repeat the call, with the same `Idempotency-Key` where it has one."
        }
        Code::Paused => {
            "new work is not taken for now. Repeat the call after `Retry-After` with the same `Idempotency-Key`."
        }
        Code::Overloaded => {
            "the service has too much to do, or is about to restart. Repeat the call after `Retry-After`."
        }
    }
}

/// What a code may say.
fn detail(code: Code) -> &'static str {
    match code {
        Code::Unauthorized => "send the header `Authorization: Bearer <API_KEY>`",
        Code::InsufficientBalance => "the available balance is 0.01, the price 0.134",
        Code::KeyLimitReached => {
            "the API key has a spend limit of 5.00, of which 4.958 is spent or held; the price is 0.134"
        }
        Code::AccountLimitReached => {
            "the account has a spend limit of 50.00 a day (UTC), of which 49.90 is spent or held; the price is 0.134"
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
        Code::Gone => "the picture was removed when its retention ended",
        Code::PayloadTooLarge => "the body may have at most 1048576 bytes",
        Code::UnsupportedMediaType => "send the body as `Content-Type: application/json`",
        Code::RangeNotSatisfiable => "the range lies outside the file, which has 1048576 bytes",
        Code::ValidationFailed => {
            "body: is not a well-formed JSON object: EOF while parsing an object at line 1 column 1"
        }
        Code::IdempotencyKeyReused => "this idempotency key was used for another request",
        Code::RateLimited => "too many calls with this API key",
        Code::Internal => "the service failed to answer this; tell its operator the request id",
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
