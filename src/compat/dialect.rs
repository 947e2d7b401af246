//! The two ways to tell a refusal: as Google's API does, and as OpenAI's does.

use super::refusal::{Kind, Refusal};
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header;
use serde_json::{Value, json};

/// Whose clients the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The google-genai SDKs.
    Gemini,
    /// The OpenAI SDKs.
    OpenAi,
}

/// Status and word of Google's canonical codes.
fn gemini(kind: Kind) -> (u16, &'static str) {
    match kind {
        Kind::MissingKey | Kind::NotAllowed | Kind::WrongAddress => (403, "PERMISSION_DENIED"),
        Kind::InvalidKey | Kind::Invalid | Kind::Blocked => (400, "INVALID_ARGUMENT"),
        // Google knows paths together with their method: another method is another, unknown path.
        Kind::UnknownModel | Kind::NotFound | Kind::NoSuchObject | Kind::WrongMethod => {
            (404, "NOT_FOUND")
        }
        Kind::Conflict => (409, "ABORTED"),
        Kind::NoFunds | Kind::TooMany => (429, "RESOURCE_EXHAUSTED"),
        Kind::Unavailable => (503, "UNAVAILABLE"),
        Kind::Deadline => (504, "DEADLINE_EXCEEDED"),
        Kind::Canceled => (499, "CANCELLED"),
        Kind::Internal => (500, "INTERNAL"),
    }
}

/// Status, type and code, as the OpenAI SDKs tell their exceptions apart.
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
        Kind::Conflict => (409, invalid, None),
        Kind::WrongMethod => (405, invalid, Some("method_not_supported")),
        Kind::Invalid => (400, invalid, None),
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
    /// The word for programs that names a refusal, where there is one.
    pub fn code(self, kind: Kind) -> Option<&'static str> {
        match self {
            Self::Gemini => Some(gemini(kind).1),
            Self::OpenAi => openai(kind).2,
        }
    }

    /// The status of a refusal.
    pub fn status(self, kind: Kind) -> StatusCode {
        let code = match self {
            Self::Gemini => gemini(kind).0,
            Self::OpenAi => openai(kind).0,
        };
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The body of a refusal.
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
                let (_, kind, code) = openai(refusal.kind);
                json!({"error": {
                    "message": refusal.message,
                    "type": kind,
                    "param": refusal.field,
                    "code": code,
                }})
            }
        }
    }

    /// The whole answer.
    pub fn answer(self, refusal: &Refusal) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status(refusal.kind));
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        if let Some(seconds) = refusal.retry_after {
            answer.insert_header((header::RETRY_AFTER, seconds));
        }
        match (self, refusal.kind) {
            // A repeat would meet the same empty account or ended batch; without this the SDKs try twice more.
            (Self::OpenAi, Kind::NoFunds | Kind::Conflict) => {
                answer.insert_header(("x-should-retry", "false"));
            }
            (Self::OpenAi, Kind::MissingKey | Kind::InvalidKey) => {
                answer.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
            }
            _ => {}
        }
        answer.json(self.body(refusal))
    }
}

/// The details that Google's clients look into, as protobuf's JSON has them.
fn details(refusal: &Refusal) -> Vec<Value> {
    let mut details = Vec::new();
    match (refusal.kind, &refusal.field) {
        (Kind::InvalidKey, _) => details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        })),
        (Kind::Invalid, Some(field)) => details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": field, "description": refusal.message}],
        })),
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
            Kind::Conflict,
            Kind::WrongMethod,
            Kind::Invalid,
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
