//! Faults of a backend, with two texts: one for the operator's log, and one for the caller that reveals nothing of the configuration.

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
    #[error("the connection closed before the answer was complete: {0}")]
    BrokenOff(String),
    #[error("no answer in time")]
    TimedOut,
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// Any status but a success.
    #[error("it answered {status}{}{}", quote(.message), advice(*.status))]
    Status {
        status: StatusCode,
        /// The backend's own message, sanitized for callers.
        message: String,
        retry_after: Option<Duration>,
    },
    /// The backend reports a problem that only the operator can fix: a bad key, an unpaid account, a model or size that it lacks.
    #[error("it cannot be used: \"{0}\"; check the key, its account and the configured model")]
    Unusable(String),
    /// The answer does not have the form of this kind of backend.
    #[error("the answer cannot be parsed ({0}); does `base_url` name a server of this kind?")]
    Garbage(String),
    /// The answer holds the address of an image on another server.
    #[error(
        "it answered with the address of an image on another server, which Tintype does not fetch"
    )]
    OtherOrigin,
}

/// The caller's error for every problem that only the operator can fix.
pub fn misconfigured() -> GenerateError {
    let text = "the image generator is not set up correctly; its operator must fix that";
    GenerateError::Broken(text.into())
}

fn quote(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(", saying \"{message}\""),
    }
}

fn advice(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => {
            "; check the backend's `api_key` or `api_key_env`, and the permissions of the key"
        }
        402 => "; the account at the backend needs a payment",
        404 | 405 | 410 => "; check `base_url`, and the model of the tier or the backend",
        407 => "; a proxy requires credentials: add them to `headers`",
        300..=399 => "; Tintype follows no redirects: set `base_url` to the redirect's target",
        _ => "",
    }
}

fn is_transient(status: StatusCode) -> bool {
    // 501 and 505 are permanent.
    matches!(status.as_u16(), 408 | 409 | 425 | 429)
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
            Fault::Unreachable(_) => transient("the image generator could not be reached"),
            Fault::BrokenOff(_) => transient(
                "the image generator closed the connection before its answer was complete",
            ),
            Fault::TimedOut => Self::TimedOut("the image generator did not answer in time".into()),
            Fault::TooLarge { .. } => {
                Self::Broken("the answer of the image generator is larger than any image".into())
            }
            Fault::Garbage(_) | Fault::OtherOrigin => {
                Self::Broken("the image generator did not return a valid image".into())
            }
            Fault::Status {
                status,
                retry_after,
                ..
            } if is_transient(status) => Self::Transient {
                reason: match status.as_u16() {
                    429 => "the image generator limits its rate at the moment".into(),
                    503 => "the image generator is overloaded at the moment".into(),
                    code => format!("the image generator failed temporarily (status {code})"),
                },
                retry_after,
            },
            Fault::Status { status, .. } if is_operator_error(status) => misconfigured(),
            Fault::Unusable(_) => misconfigured(),
            Fault::Status { message, .. } if message.is_empty() => {
                Self::Refused("the image generator refused the request".into())
            }
            Fault::Status { message, .. } => Self::Refused(format!(
                "the image generator refused the request: {message}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str) -> Fault {
        Fault::Status {
            status: StatusCode::from_u16(code).unwrap(),
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
            GenerateError::Broken(_) => "broken",
            GenerateError::Refused(_) => "refused",
            GenerateError::Blocked(_) => "blocked",
            GenerateError::NoImage(_) => "no image",
            GenerateError::TimedOut(_) => "timed out",
            GenerateError::Unsound(_) | GenerateError::NotAsked(_) | GenerateError::Storage(_) => {
                panic!("it was asked")
            }
        };
        for code in [408, 409, 425, 429, 500, 502, 503, 504, 520, 524, 529] {
            assert_eq!(class(code), "transient", "{code}");
        }
        for code in [
            301, 302, 304, 307, 401, 402, 403, 404, 405, 407, 410, 501, 505,
        ] {
            assert_eq!(class(code), "broken", "{code}");
        }
        for code in [400, 406, 411, 412, 413, 415, 422, 451] {
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
            Fault::Unusable("abc".into()),
        ] {
            assert!(fault.to_string().contains("abc"), "{fault}");
            assert!(!text(fault).contains("abc"));
        }
    }
}
