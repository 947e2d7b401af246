//! What the handlers of the OpenAI API return.

use crate::compat::dialect::Dialect;
use crate::compat::refusal::Refusal;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};

pub type OpenAiResult = Result<HttpResponse, OpenAiRefusal>;

/// A refusal that actix renders in the error format of OpenAI.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub struct OpenAiRefusal(Refusal);

impl<T: Into<Refusal>> From<T> for OpenAiRefusal {
    fn from(refusal: T) -> Self {
        Self(refusal.into())
    }
}

impl ResponseError for OpenAiRefusal {
    fn status_code(&self) -> StatusCode {
        Dialect::OpenAi.status(self.0.kind)
    }

    fn error_response(&self) -> HttpResponse {
        Dialect::OpenAi.response(&self.0)
    }
}
