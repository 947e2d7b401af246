//! The errors of the native and the operator interface: one table of codes, rendered as RFC 9457 problem details.

use crate::application::error::Error;
use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use std::fmt;

pub use crate::application::error::FieldFault;

/// Clients distinguish errors by the word of the code, which never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Unauthorized,
    InsufficientBalance,
    KeyLimitReached,
    AccountLimitReached,
    ModelNotAllowed,
    AddressNotAllowed,
    Forbidden,
    InvalidSignature,
    UrlExpired,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    Conflict,
    Gone,
    PayloadTooLarge,
    UnsupportedMediaType,
    RangeNotSatisfiable,
    ValidationFailed,
    IdempotencyKeyReused,
    RateLimited,
    Internal,
    StorageUnavailable,
    Paused,
    Overloaded,
}

impl Code {
    /// In the order of the documentation.
    pub const ALL: [Self; 24] = [
        Self::Unauthorized,
        Self::InsufficientBalance,
        Self::KeyLimitReached,
        Self::AccountLimitReached,
        Self::ModelNotAllowed,
        Self::AddressNotAllowed,
        Self::Forbidden,
        Self::InvalidSignature,
        Self::UrlExpired,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::Conflict,
        Self::Gone,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::RangeNotSatisfiable,
        Self::ValidationFailed,
        Self::IdempotencyKeyReused,
        Self::RateLimited,
        Self::Internal,
        Self::StorageUnavailable,
        Self::Paused,
        Self::Overloaded,
    ];

    /// Status, word and title.
    fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Unauthorized => (401, "unauthorized", "Not authenticated"),
            Self::InsufficientBalance => (402, "insufficient_balance", "Insufficient balance"),
            Self::KeyLimitReached => (
                402,
                "key_limit_reached",
                "Spend limit of the API key reached",
            ),
            Self::AccountLimitReached => (
                402,
                "account_limit_reached",
                "Spend limit of the account reached",
            ),
            Self::ModelNotAllowed => (
                403,
                "model_not_allowed",
                "Model not allowed for this API key",
            ),
            Self::AddressNotAllowed => (
                403,
                "address_not_allowed",
                "Address not allowed for this API key",
            ),
            Self::Forbidden => (403, "forbidden", "Not allowed"),
            Self::InvalidSignature => (403, "invalid_signature", "Invalid signature"),
            Self::UrlExpired => (403, "url_expired", "URL expired"),
            Self::NotFound => (404, "not_found", "Not found"),
            Self::MethodNotAllowed => (405, "method_not_allowed", "Method not allowed"),
            Self::RequestTimeout => (408, "request_timeout", "Request timeout"),
            Self::Conflict => (409, "conflict", "Conflict"),
            Self::Gone => (410, "gone", "Gone"),
            Self::PayloadTooLarge => (413, "payload_too_large", "Request body too large"),
            Self::UnsupportedMediaType => (415, "unsupported_media_type", "Unsupported media type"),
            Self::RangeNotSatisfiable => (416, "range_not_satisfiable", "Range not satisfiable"),
            Self::ValidationFailed => (422, "validation_failed", "Validation failed"),
            Self::IdempotencyKeyReused => (422, "idempotency_key_reused", "Idempotency key reused"),
            Self::RateLimited => (429, "rate_limited", "Too many requests"),
            Self::Internal => (500, "internal", "Internal error"),
            Self::StorageUnavailable => (502, "storage_unavailable", "Object storage unavailable"),
            Self::Paused => (503, "paused", "Paused"),
            Self::Overloaded => (503, "overloaded", "Overloaded"),
        }
    }

    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// The same for every error of this code.
    pub fn title(self) -> &'static str {
        self.row().2
    }
}

/// The answer of a handler.
pub type HttpResult = Result<HttpResponse, Problem>;

#[derive(Clone, Debug)]
pub struct Problem {
    pub code: Code,
    /// What failed and what to do.
    pub detail: String,
    /// For 422.
    pub errors: Vec<FieldFault>,
    /// In seconds.
    pub retry_after: Option<u32>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// 401 gets `WWW-Authenticate`, 429 and 503 get `Retry-After`.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let mut headers = Vec::new();
        if code == Code::Unauthorized {
            headers.push((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        }
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: match code {
                Code::RateLimited | Code::Paused | Code::Overloaded => Some(1),
                _ => None,
            },
            headers,
        }
    }

    pub fn validation(errors: Vec<FieldFault>) -> Self {
        Error::invalid(errors).into()
    }

    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self::validation(vec![FieldFault::new(field, message)])
    }

    /// 405 with the methods that the path accepts.
    pub fn method_not_allowed(allow: &str) -> Self {
        let problem = Self::new(Code::MethodNotAllowed, format!("this path takes {allow}"));
        match HeaderValue::from_str(allow) {
            Ok(value) => problem.with_header(header::ALLOW, value),
            Err(_) => problem,
        }
    }

    pub fn retry_after(self, seconds: u32) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub fn render(&self, request_id: &str) -> HttpResponse<BoxBody> {
        let fault = |it: &'_ FieldFault| tintype_api::Fault {
            field: it.field.clone().into(),
            message: it.message.clone().into(),
        };
        let (status, code, title) = self.code.row();
        let body = tintype_api::Problem {
            r#type: "about:blank".into(),
            title: title.into(),
            status,
            detail: self.detail.as_str().into(),
            code: code.into(),
            request_id: request_id.into(),
            errors: self.errors.iter().map(fault).collect(),
        };
        let mut answer = HttpResponse::build(self.code.status());
        answer.content_type("application/problem+json");
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        if let Some(seconds) = self.retry_after {
            answer.insert_header((header::RETRY_AFTER, seconds));
        }
        for header in &self.headers {
            answer.append_header(header.clone());
        }
        answer.body(serde_json::to_vec(&body).unwrap_or_default())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.word(), self.detail)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.code.status()
    }

    /// Carries the problem to the outermost layer, which knows the request id and renders it.
    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut answer = HttpResponse::new(self.code.status());
        answer.extensions_mut().insert(self.clone());
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_codes() {
        let table: String = Code::ALL
            .iter()
            .map(|code| {
                format!(
                    "{} {} {}\n",
                    code.status().as_u16(),
                    code.word(),
                    code.title()
                )
            })
            .collect();
        insta::assert_snapshot!(table);
    }
}
