//! The error responses of the documents, from the table of codes.

use super::headers::{Header, component_reference};
use super::required_auth::RequiredAuth;
use crate::web::problem::Code;
use crate::web::submissions::idempotency_key;
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
        .fold(prefix.to_owned(), |name, code| name + &camel(code.as_str()));
    if !responses.contains_key(&name) {
        responses.insert(name.clone(), describe_codes(codes, auth));
    }
    component_reference("responses", &name)
}

fn describe_codes(codes: &[Code], auth: RequiredAuth) -> Value {
    let Some(status) = codes.first().map(|code| code.status().as_u16()) else {
        return Value::Null;
    };
    let means = codes.iter().map(|code| {
        let row = code.row();
        let (meaning, action, retry) = (row.meaning, row.action, row.retry);
        format!(
            "`{}`: {meaning}. What to do: {action}. Retry: `{retry}`.",
            code.as_str()
        )
    });
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
        let name = code.as_str().to_owned();
        (
            name,
            json!({"summary": code.row().title, "value": example(*code)}),
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
                    "code": {"enum": codes.iter().map(|code| code.as_str()).collect::<Vec<_>>()},
                },
            },
            "examples": codes.iter().map(example).collect::<Map<_, _>>(),
        }},
    })
}

/// Lists the codes in the schema of every error.
pub fn list_codes(problem: &mut Value) {
    let code = &mut problem["properties"]["code"];
    let text = code["description"].take();
    let codes = words(Code::ALL.iter().map(|code| code.as_str()));
    *code = json!({"description": text, "allOf": [codes]});
}

/// An example error of a code.
fn example(code: Code) -> Value {
    let mut body = json!({
        "type": "about:blank",
        "title": code.row().title,
        "status": code.status().as_u16(),
        "detail": code.row().example,
        "code": code.as_str(),
        "request_id": "80a496c0-53a5-4b0e-8f9d-0c7f2a6d1e3b",
    });
    let fault = match code {
        Code::ValidationFailed => {
            Some(json!({"field": "prompt", "message": "must have at least 1 character"}))
        }
        Code::IdempotencyKeyReused => {
            Some(json!({"field": idempotency_key::HEADER, "message": code.row().example}))
        }
        _ => None,
    };
    if let Some(fault) = fault {
        body["errors"] = json!([fault]);
    }
    body
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
