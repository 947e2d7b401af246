//! The errors of the native and the operator interface: rendered as RFC 9457 problem details.

pub(crate) mod catch_panic;
pub(crate) mod codes;
pub(crate) mod error_conversion;

use crate::application::error::Error;
use crate::web::no_store;
use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde_json::Value;
use tintype_storage::json;

pub use self::codes::Code;
pub use crate::application::error::FieldFault;

/// What a handler returns.
pub type HttpResult = Result<HttpResponse, Problem>;

#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {detail}{advice}", .code.as_str())]
pub struct Problem {
    pub code: Code,
    /// What failed and what to do.
    pub detail: String,
    /// See [`Error::advice`].
    pub advice: &'static str,
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
            advice: "",
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
        let methods = match allow.rsplit_once(", ") {
            Some((others, last)) => format!("{others} and {last}"),
            None => allow.to_owned(),
        };
        let detail = format!("this path supports {methods}");
        let problem = Self::new(Code::MethodNotAllowed, detail);
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
        self.render_with(request_id, None)
    }

    /// `error` is the same error in the format of another API.
    pub fn render_with(&self, request_id: &str, error: Option<Value>) -> HttpResponse<BoxBody> {
        let row = self.code.row();
        let body = tintype_api::Problem {
            r#type: "about:blank".into(),
            title: row.title.into(),
            status: row.status,
            detail: format!("{}{}", self.detail, self.advice).into(),
            code: row.word.into(),
            request_id: request_id.into(),
            errors: self.errors.clone(),
            error,
        };
        let mut response = no_store::build(self.code.status());
        response.content_type("application/problem+json");
        if let Some(seconds) = self.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        for header in &self.headers {
            response.append_header(header.clone());
        }
        response.body(json::to_bytes(&body))
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.code.status()
    }

    /// Carries the problem to the outermost layer, which knows the request id and renders it.
    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::new(self.code.status());
        response.extensions_mut().insert(self.clone());
        response
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
                    code.as_str(),
                    code.row().title
                )
            })
            .collect();
        insta::assert_snapshot!(table);
    }
}
