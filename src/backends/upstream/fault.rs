//! Faults of a back end, in two texts: one for the operator's log, and one for the caller, without a word of the set-up.

use reqwest::StatusCode;
use std::time::Duration;
use tintype_actors::ports::GenerateError;

/// A failed call. `Display` is for the operator: it says what happened and what to look at. The caller's words come by
/// turning it into a [`GenerateError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No connection came about: refused, unresolved, no TLS.
    #[error("no connection: {0}; is it running, and is `base_url` right?")]
    Unreachable(String),
    /// The connection ended before the whole answer was there.
    #[error("the connection ended before the whole answer was there: {0}")]
    BrokenOff(String),
    /// The call's time limit has passed.
    #[error("no answer in time")]
    TimedOut,
    /// The answer is larger than any picture.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// A status that is no success.
    #[error("it answered {status}{}{}", quoted(.message), advice(*.status))]
    Status {
        /// The status.
        status: StatusCode,
        /// The back end's own message, sanitized: fit for the caller too.
        message: String,
        /// How long it asks its client to wait.
        retry_after: Option<Duration>,
    },
    /// The back end reports what only the operator can mend: a bad key, an account without money, a model or a size that it does
    /// not have.
    #[error(
        "it cannot be used: it says \"{0}\"; check the key and its account, and what the configuration asks for"
    )]
    Unusable(String),
    /// The answer is not what this kind of back end answers.
    #[error("the answer cannot be read ({0}); does `base_url` name a server of this kind?")]
    Garbage(String),
    /// The answer points to another server, which is not asked.
    #[error("it answered with the address of a picture on another server, which is not fetched")]
    Elsewhere,
}

/// The caller's text for everything that only the operator can mend.
pub fn not_set_up() -> GenerateError {
    let text = "the image generator is not set up correctly; its operator has to correct that";
    GenerateError::Broken(text.into())
}

fn quoted(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(", saying \"{message}\""),
    }
}

fn advice(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => "; check the back end's `api_key` or `api_key_env`, and what that key may do",
        402 => "; its account there has to be paid for",
        404 | 405 | 410 => "; check `base_url`, and the model of the tier or the back end",
        407 => "; a proxy in between asks for credentials, which go into `headers`",
        300..=399 => "; redirects are not followed: set `base_url` to where it points",
        _ => "",
    }
}

/// Statuses that may be gone at the next attempt.
pub(super) fn may_pass(status: StatusCode) -> bool {
    // 501 and 505 say what the server never does.
    matches!(status.as_u16(), 408 | 409 | 425 | 429)
        || (status.is_server_error() && !matches!(status.as_u16(), 501 | 505))
}

/// Statuses that concern the operator's configuration, or an account at the back end, and not the request.
fn is_the_operators(status: StatusCode) -> bool {
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
            Fault::BrokenOff(_) => transient("the image generator broke off its answer"),
            Fault::TimedOut => Self::TimedOut("the image generator gave no answer in time".into()),
            Fault::TooLarge { .. } => {
                Self::Broken("the image generator answered with more than a picture can be".into())
            }
            Fault::Garbage(_) | Fault::Elsewhere => Self::Broken(
                "the image generator answered with something that is no picture".into(),
            ),
            Fault::Status {
                status,
                retry_after,
                ..
            } if may_pass(status) => Self::Transient {
                reason: match status.as_u16() {
                    429 => "the image generator is asked for too much at the moment".into(),
                    503 => "the image generator is overloaded at the moment".into(),
                    code => format!("the image generator failed for the moment (status {code})"),
                },
                retry_after,
            },
            Fault::Status { status, .. } if is_the_operators(status) => not_set_up(),
            Fault::Unusable(_) => not_set_up(),
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
    fn each_status_is_what_can_be_done_about_it() {
        let class = |code| match GenerateError::from(status(code, "too dark")) {
            GenerateError::Transient { retry_after, .. } => {
                assert_eq!(retry_after, Some(Duration::from_secs(2)), "{code}");
                "transient"
            }
            GenerateError::Broken(_) => "broken",
            GenerateError::Refused(_) => "refused",
            GenerateError::Blocked(_) => "blocked",
            GenerateError::NoPicture(_) => "no picture",
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
    fn a_refusal_carries_the_reason_and_a_matter_of_the_operator_does_not() {
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
