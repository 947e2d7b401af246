//! Error responses in the formats of Google and OpenAI.

use super::refusal::{Kind, Refusal};
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header;
use serde_json::{Value, json};

/// The client libraries that read the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The google-genai SDKs.
    Gemini,
    /// The OpenAI SDKs.
    OpenAi,
}

/// HTTP status and Google's canonical code.
fn gemini(kind: Kind) -> (u16, &'static str) {
    match kind {
        Kind::MissingKey | Kind::NotAllowed | Kind::WrongAddress => (403, "PERMISSION_DENIED"),
        Kind::InvalidKey
        | Kind::Invalid
        | Kind::PngCompression
        | Kind::MissingField
        | Kind::KeyReused
        | Kind::Blocked => (400, "INVALID_ARGUMENT"),
        // Google routes by method and path, so a wrong method is an unknown path.
        Kind::UnknownModel
        | Kind::NotFound
        | Kind::NoSuchObject
        | Kind::NoSuchPrevious
        | Kind::WrongMethod => (404, "NOT_FOUND"),
        Kind::Conflict => (409, "ABORTED"),
        Kind::NoFunds | Kind::TooMany => (429, "RESOURCE_EXHAUSTED"),
        Kind::Unavailable => (503, "UNAVAILABLE"),
        Kind::Deadline => (504, "DEADLINE_EXCEEDED"),
        Kind::Canceled => (499, "CANCELLED"),
        Kind::Internal => (500, "INTERNAL"),
    }
}

/// HTTP status, type and code. The OpenAI SDKs choose their exception by them.
fn openai(kind: Kind) -> (u16, &'static str, Option<&'static str>) {
    let (invalid, server) = ("invalid_request_error", "server_error");
    match kind {
        Kind::MissingKey => (401, invalid, None),
        Kind::InvalidKey => (401, invalid, Some("invalid_api_key")),
        Kind::NotAllowed => (403, invalid, Some("model_not_allowed")),
        Kind::WrongAddress => (403, invalid, Some("address_not_allowed")),
        Kind::UnknownModel => (404, invalid, Some("model_not_found")),
        Kind::NotFound => (404, invalid, Some("unknown_url")),
        Kind::NoSuchObject => (404, invalid, None),
        Kind::NoSuchPrevious => (400, invalid, Some("previous_response_not_found")),
        Kind::Conflict => (409, invalid, None),
        Kind::WrongMethod => (405, invalid, Some("method_not_supported")),
        Kind::Invalid => (400, invalid, None),
        Kind::PngCompression => (
            400,
            "image_generation_user_error",
            Some("invalid_png_output_compression"),
        ),
        Kind::MissingField => (400, invalid, Some("missing_required_parameter")),
        Kind::KeyReused => (400, invalid, Some("idempotency_key_reused")),
        Kind::Blocked => (
            400,
            "image_generation_user_error",
            Some("moderation_blocked"),
        ),
        Kind::NoFunds => (429, "insufficient_quota", Some("insufficient_quota")),
        Kind::TooMany => (429, "requests", Some("rate_limit_exceeded")),
        Kind::Unavailable => (503, server, Some("unavailable")),
        Kind::Deadline => (504, server, Some("timeout")),
        Kind::Canceled => (499, invalid, Some("canceled")),
        Kind::Internal => (500, server, None),
    }
}

impl Dialect {
    /// Of a response that is JSON.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Gemini => "application/json; charset=UTF-8",
            Self::OpenAi => "application/json",
        }
    }

    /// The error code, if the dialect has one.
    pub fn code(self, refusal: &Refusal) -> Option<&'static str> {
        match (self, refusal.kind, &refusal.field) {
            (Self::Gemini, kind, _) => Some(gemini(kind).1),
            (Self::OpenAi, Kind::Invalid, Some(_)) => Some("invalid_value"),
            (Self::OpenAi, kind, _) => openai(kind).2,
        }
    }

    pub fn status(self, kind: Kind) -> StatusCode {
        let code = match self {
            Self::Gemini => gemini(kind).0,
            Self::OpenAi => openai(kind).0,
        };
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn body(self, refusal: &Refusal) -> Value {
        match self {
            Self::Gemini => {
                let (code, status) = gemini(refusal.kind);
                let mut error = json!({"code": code, "message": refusal.message, "status": status});
                let details = details(refusal);
                if !details.is_empty() {
                    error["details"] = details.into();
                }
                json!({ "error": error })
            }
            Self::OpenAi => {
                json!({"error": {
                    "message": refusal.message,
                    "type": openai(refusal.kind).1,
                    "param": refusal.field,
                    "code": self.code(refusal),
                }})
            }
        }
    }

    pub fn response(self, refusal: &Refusal) -> HttpResponse {
        let mut response = HttpResponse::build(self.status(refusal.kind));
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        if let Some(seconds) = refusal.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        match (self, refusal.kind) {
            // A retry would fail again, and the SDKs retry twice by default.
            (Self::OpenAi, Kind::NoFunds | Kind::Conflict) => {
                response.insert_header(("x-should-retry", "false"));
            }
            (Self::OpenAi, Kind::MissingKey | Kind::InvalidKey) => {
                response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
            }
            _ => {}
        }
        response.json(self.body(refusal))
    }
}

/// The details that Google's clients read, in the JSON format of protobuf.
fn details(refusal: &Refusal) -> Vec<Value> {
    let mut details = Vec::new();
    match (refusal.kind, &refusal.field) {
        (Kind::InvalidKey, _) => details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        })),
        (Kind::Invalid | Kind::MissingField | Kind::KeyReused, Some(field)) => {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": field, "description": refusal.message}],
            }))
        }
        _ => {}
    }
    if let Some(seconds) = refusal.retry_after {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s"),
        }));
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_refusals_in_both_dialects() {
        let row = |kind: &Kind| {
            let (status, word) = gemini(*kind);
            let (code, class, word_of_openai) = openai(*kind);
            format!(
                "{kind:?}: {status} {word} | {code} {class} {}\n",
                word_of_openai.unwrap_or("-")
            )
        };
        let all = [
            Kind::MissingKey,
            Kind::InvalidKey,
            Kind::NotAllowed,
            Kind::WrongAddress,
            Kind::UnknownModel,
            Kind::NotFound,
            Kind::NoSuchObject,
            Kind::NoSuchPrevious,
            Kind::Conflict,
            Kind::WrongMethod,
            Kind::Invalid,
            Kind::PngCompression,
            Kind::MissingField,
            Kind::KeyReused,
            Kind::NoFunds,
            Kind::TooMany,
            Kind::Unavailable,
            Kind::Deadline,
            Kind::Canceled,
            Kind::Blocked,
            Kind::Internal,
        ];
        insta::assert_snapshot!(all.iter().map(row).collect::<String>());
    }
}
