//! Faults of a backend, with two texts: one for the operator's log, and one for the caller that reveals nothing of the configuration.

use super::for_caller;
use reqwest::StatusCode;
use std::time::Duration;
use tintype_actors::ports::GenerateError;

/// A failed call. `Display` is for the operator: what failed and what to check. Converting it into a [`GenerateError`] gives the
/// caller's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Connection refused, name not resolved, or TLS failed.
    #[error("no connection: {0}; is it running, and is `base_url` right?")]
    Unreachable(String),
    #[error("the connection closed before the response was complete: {0}")]
    BrokenOff(String),
    #[error("no response in time")]
    TimedOut,
    #[error("the response is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// Any status but a success.
    #[error("it returned {status}{}{}", quote(.message), advice(*.status, .path))]
    Status {
        status: StatusCode,
        path: String,
        /// The backend's own message, sanitized for callers.
        message: String,
        retry_after: Option<Duration>,
    },
    /// A web page instead of a refusal of the API. Unlike a refusal, it says nothing about the request.
    #[error(
        "it returned {status} with a web page; does a proxy respond instead of the backend (the path was {path})?"
    )]
    WebPage { status: StatusCode, path: String },
    /// The backend rejects the key or its account, so it rejects every request.
    #[error("it rejects the key or its account{}; check `api_key` or `api_key_env`, and the account at the backend", quote(.0))]
    AccountRejected(String),
    /// The backend lacks the configured model, or the model rejects one of the operator's settings.
    #[error("it rejects the model or its settings{}; check the model of the tier or the backend, and its settings", quote(.0))]
    ModelRejected(String),
    /// The response does not have the form of this kind of backend.
    #[error("the response cannot be parsed ({0}); does `base_url` name a server of this kind?")]
    Garbage(String),
    /// The response holds the address of an image on another server.
    #[error("it returned the address of an image on another server, which Tintype does not fetch")]
    OtherOrigin,
}

/// The caller's error for every problem that only the operator can fix.
pub fn misconfigured() -> GenerateError {
    GenerateError::Misconfigured(MISCONFIGURED.into())
}

const MISCONFIGURED: &str =
    "the image generator is misconfigured; contact the operator of this service";

/// The caller's error for a fault of a server that takes the prompt as a plain string: it refuses a request only if its configuration
/// is wrong.
pub fn without_refusal(fault: Fault) -> GenerateError {
    match GenerateError::from(fault) {
        GenerateError::Refused(_) => misconfigured(),
        other => other,
    }
}

fn quote(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(", saying \"{message}\""),
    }
}

fn advice(status: StatusCode, path: &str) -> String {
    match status.as_u16() {
        401 | 403 => {
            "; check the backend's `api_key` or `api_key_env`, and the permissions of the key"
                .into()
        }
        402 => "; the account at the backend needs a payment".into(),
        404 | 405 | 410 => format!(
            "; check `base_url` (the path was {path}), and the model of the tier or the backend"
        ),
        407 => "; a proxy requires credentials: add them to `headers`".into(),
        413 => "; raise the limit of the server, or of a proxy in front of it".into(),
        300..=399 => format!(
            "; Tintype follows no redirects: set `base_url` to the redirect's target (the path was {path})"
        ),
        _ => String::new(),
    }
}

/// Does the backend, or a proxy in front of it, reject every request? Not 403: filters answer it to single requests.
fn rejects_all(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 402 | 407) || status.is_redirection()
}

/// Does the status blame the request?
pub(super) fn refuses_request(status: StatusCode) -> bool {
    status.is_client_error()
        && status.as_u16() != 413
        && !(is_transient(status) || rejects_all(status) || is_operator_error(status))
}

fn is_transient(status: StatusCode) -> bool {
    // 501 and 505 are permanent. Google answers 499 if it cancels a request under load.
    matches!(status.as_u16(), 408 | 409 | 425 | 429 | 499)
        || (status.is_server_error() && !matches!(status.as_u16(), 501 | 505))
}

/// Is the cause the operator's configuration or account, not the request?
fn is_operator_error(status: StatusCode) -> bool {
    !status.is_client_error() || matches!(status.as_u16(), 401 | 402 | 403 | 404 | 405 | 407 | 410)
}

impl From<Fault> for GenerateError {
    fn from(fault: Fault) -> Self {
        let transient = |reason: &str| Self::Transient {
            reason: reason.to_owned(),
            retry_after: None,
        };
        match fault {
            Fault::Unreachable(_) => {
                Self::Unreachable("the image generator could not be reached".into())
            }
            Fault::BrokenOff(_) => transient(
                "the image generator closed the connection before its response was complete",
            ),
            Fault::TimedOut => Self::TimedOut("the image generator did not respond in time".into()),
            Fault::TooLarge { .. } => Self::BackendFault(
                "the response of the image generator is larger than any image".into(),
            ),
            Fault::Garbage(_) | Fault::OtherOrigin => {
                Self::BackendFault("the image generator did not return a valid image".into())
            }
            Fault::Status {
                status,
                retry_after,
                ..
            } if is_transient(status) => {
                let overloaded = |reason: &str| Self::Overloaded {
                    reason: reason.to_owned(),
                    retry_after,
                };
                match status.as_u16() {
                    429 => overloaded("the rate limit of the image generator is reached"),
                    503 => overloaded("the image generator is overloaded at the moment"),
                    code => Self::Transient {
                        reason: format!("the image generator failed temporarily (status {code})"),
                        retry_after,
                    },
                }
            }
            Fault::Status { status, .. } if rejects_all(status) => {
                Self::BackendRejectsAll(MISCONFIGURED.into())
            }
            Fault::AccountRejected(_) => Self::BackendRejectsAll(MISCONFIGURED.into()),
            Fault::Status { status, .. } if is_operator_error(status) => misconfigured(),
            Fault::ModelRejected(_) | Fault::WebPage { .. } => misconfigured(),
            Fault::Status { status, .. } if status.as_u16() == 413 => Self::BackendLimit(
                "the request is too large for the image generator; send smaller input images"
                    .into(),
            ),
            Fault::Status { message, .. } => {
                let refused = "the image generator refused the request";
                Self::Refused(match for_caller(message) {
                    message if message.is_empty() => refused.into(),
                    message => format!("{refused}: {message}"),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str) -> Fault {
        Fault::Status {
            status: StatusCode::from_u16(code).unwrap(),
            path: "/v1/images".into(),
            message: message.into(),
            retry_after: Some(Duration::from_secs(2)),
        }
    }

    #[test]
    fn each_status_maps_to_its_error() {
        let class = |code| match GenerateError::from(status(code, "too dark")) {
            GenerateError::Transient { retry_after, .. } => {
                assert_eq!(retry_after, Some(Duration::from_secs(2)), "{code}");
                "transient"
            }
            GenerateError::Overloaded { retry_after, .. } => {
                assert_eq!(retry_after, Some(Duration::from_secs(2)), "{code}");
                "overloaded"
            }
            GenerateError::Unreachable(_) => "unreachable",
            GenerateError::BackendFault(_) => "backend fault",
            GenerateError::Misconfigured(_) => "misconfigured",
            GenerateError::BackendRejectsAll(_) => "rejects all",
            GenerateError::Refused(_) => "refused",
            GenerateError::BackendLimit(_) => "backend limit",
            GenerateError::Blocked(_) => "blocked",
            GenerateError::NoImage(_) => "no image",
            GenerateError::TimedOut(_) => "timed out",
            GenerateError::InvalidRequest(_)
            | GenerateError::Unsupported(_)
            | GenerateError::Storage(_) => {
                panic!("it was asked")
            }
        };
        for code in [408, 409, 425, 499, 500, 502, 504, 520, 524, 529] {
            assert_eq!(class(code), "transient", "{code}");
        }
        for code in [429, 503] {
            assert_eq!(class(code), "overloaded", "{code}");
        }
        for code in [301, 302, 304, 307, 401, 402, 407] {
            assert_eq!(class(code), "rejects all", "{code}");
        }
        for code in [403, 404, 405, 410, 501, 505] {
            assert_eq!(class(code), "misconfigured", "{code}");
        }
        assert_eq!(class(413), "backend limit");
        for code in [400, 406, 411, 412, 415, 422, 451] {
            assert_eq!(class(code), "refused", "{code}");
        }
    }

    #[test]
    fn a_refusal_carries_the_reason_and_an_operator_error_does_not() {
        let text = |fault: Fault| GenerateError::from(fault).to_string();
        assert_eq!(
            text(status(400, "prompt too long")),
            "the image generator refused the request: prompt too long"
        );
        for fault in [
            status(401, "bad key abc"),
            status(404, "no model abc"),
            Fault::Unreachable("connection refused (abc)".into()),
            Fault::Garbage("abc".into()),
            Fault::AccountRejected("abc".into()),
            Fault::ModelRejected("abc".into()),
            Fault::WebPage {
                status: StatusCode::BAD_REQUEST,
                path: "/abc".into(),
            },
        ] {
            assert!(fault.to_string().contains("abc"), "{fault}");
            assert!(!text(fault).contains("abc"));
        }
    }

    #[test]
    fn a_message_in_another_script_is_for_the_operator_only() {
        let fault = status(400, "\u{4eca}\u{65e5}");
        assert!(fault.to_string().contains("\u{4eca}"));
        let error = GenerateError::from(fault).to_string();
        assert_eq!(error, "the image generator refused the request");
    }

    #[test]
    fn a_wrong_path_is_shown_to_the_operator() {
        let shown = status(404, "no such route").to_string();
        assert!(shown.contains("(the path was /v1/images)"), "{shown}");
        assert!(!status(500, "").to_string().contains("/v1/images"));
    }
}
