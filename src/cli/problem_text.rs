//! Formats the error response of a server for people.

use std::collections::HashMap;
use tintype_api::Problem;
use tintype_egress::StatusCode;

/// The error response of a server.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text(&|field, message| format!("{field} {message}")))]
pub(super) struct ErrorResponse {
    status: StatusCode,
    /// `None` if the response is not from Tintype.
    problem: Option<Problem<'static>>,
    /// What to do. The last part of the text.
    advice: Option<String>,
}

impl ErrorResponse {
    pub fn new(status: StatusCode, body: &[u8]) -> Self {
        let problem = serde_json::from_slice(body).ok();
        Self {
            status,
            problem,
            advice: None,
        }
    }

    /// Adds `advice`, unless the server refused the request. A pause refuses all requests but those that it has executed before.
    pub fn advise_unless_refused(&mut self, advice: String) {
        let is_paused = self.problem.as_ref().is_some_and(|it| it.code == "paused");
        let may_be_executed =
            (self.status.is_server_error() && !is_paused) || self.status.is_success();
        self.advice = may_be_executed.then_some(advice);
    }

    pub fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    pub fn is_conflict(&self) -> bool {
        self.status == StatusCode::CONFLICT
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        let status = self.status;
        status.is_server_error()
            || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status)
    }

    /// `describe` formats a field and its message. An error that several requests of a batch share is listed once.
    pub fn text(&self, describe: &dyn Fn(&str, &str) -> String) -> String {
        self.text_with_lines(describe, &|_| None)
    }

    /// Like [`text`](Self::text). `line_of` tells the line of a field in the user's file.
    pub fn text_with_lines(
        &self,
        describe: &dyn Fn(&str, &str) -> String,
        line_of: &dyn Fn(&str) -> Option<usize>,
    ) -> String {
        let text = self.problem_text(describe, line_of);
        match &self.advice {
            Some(advice) => format!("{text}; {advice}"),
            None => text,
        }
    }

    fn problem_text(
        &self,
        describe: &dyn Fn(&str, &str) -> String,
        line_of: &dyn Fn(&str) -> Option<usize>,
    ) -> String {
        let Some(problem) = &self.problem else {
            return format!("the server responded with status {}", self.status);
        };
        let errors = problem.errors.iter();
        let errors = errors.map(|it| (it.field.as_str(), it.message.as_str()));
        let lines = group_errors(errors, describe, line_of);
        match lines.as_slice() {
            [] => format!("{}: {}", problem.title, problem.detail),
            [line] => line.clone(),
            lines => format!("{}\n  {}", problem.title, lines.join("\n  ")),
        }
    }
}

/// One line per error, in order. Errors that differ only in the position of the request share a line, which names all positions.
fn group_errors<'a>(
    errors: impl Iterator<Item = (&'a str, &'a str)>,
    describe: &dyn Fn(&str, &str) -> String,
    line_of: &dyn Fn(&str) -> Option<usize>,
) -> Vec<String> {
    let mut groups: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut known = HashMap::new();
    for (field, message) in errors {
        let rest = split_position(field).map(|(_, rest)| rest);
        // The field and the message both name the request. Commands name its line in the user's file.
        let message = match rest {
            Some(_) => without_line(message),
            None => message,
        };
        let group = *known
            .entry((rest.ok_or(field), message))
            .or_insert(groups.len());
        match groups.get_mut(group) {
            Some((_, _, others)) => others.push(field),
            None => groups.push((field, message, Vec::new())),
        }
    }
    let line = |(field, message, others): (&str, &str, Vec<&str>)| {
        describe(field, message) + &also(&others, line_of)
    };
    groups.into_iter().map(line).collect()
}

/// Names the other requests with the same error: by their lines, or by their positions if the file has no lines.
fn also(others: &[&str], line_of: &dyn Fn(&str) -> Option<usize>) -> String {
    let lines = others.iter().map(|it| Some(line_of(it)?.to_string()));
    let positions = others.iter().filter_map(|it| split_position(it));
    match (others.len(), lines.collect::<Option<Vec<String>>>()) {
        (0, _) => String::new(),
        (1, Some(lines)) => format!(" (also on line {})", lines.join("")),
        (_, Some(lines)) => format!(" (also on lines {})", lines.join(", ")),
        (_, None) => {
            let names = positions.map(|(position, _)| format!("requests[{position}]"));
            format!(" (also in {})", names.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Splits `requests[3].prompt` into `3` and `prompt`. `None` for other fields.
pub(super) fn split_position(field: &str) -> Option<(usize, &str)> {
    let (position, rest) = field.strip_prefix("requests[")?.split_once(']')?;
    Some((position.parse().ok()?, rest.trim_start_matches('.')))
}

/// Removes the line number at the start of a message about a request.
fn without_line(message: &str) -> &str {
    let numbered = message.strip_prefix("on line ");
    let parts = numbered.and_then(|it| it.split_once(": "));
    match parts {
        Some((line, rest)) if line.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_requests_share_is_listed_once() {
        let errors = [
            ("requests[0].model", "is required"),
            ("requests[0].prompt", "is empty"),
            ("requests[1].model", "on line 3: is required"),
            ("requests[2].model", "must be a text"),
            ("requests[7].model", "on line 9: is required"),
            ("requests[7].prompt", "is empty"),
            ("requests[8].inputs[0]", "is damaged"),
            ("requests[8].inputs[1]", "is damaged"),
            ("body", "has 900 more errors that are not listed"),
        ];
        let expected = [
            "requests[0].model is required (also in requests[1], requests[7])",
            "requests[0].prompt is empty (also in requests[7])",
            "requests[2].model must be a text",
            "requests[8].inputs[0] is damaged",
            "requests[8].inputs[1] is damaged",
            "body has 900 more errors that are not listed",
        ];
        let describe = |field: &str, message: &str| format!("{field} {message}");
        let found = group_errors(errors.into_iter(), &describe, &|_| None);
        assert_eq!(found, expected);
        let line_of = |field: &str| Some(2 + split_position(field)?.0);
        let found = group_errors(errors.into_iter(), &describe, &line_of);
        assert_eq!(
            found[..2],
            [
                "requests[0].model is required (also on lines 3, 9)",
                "requests[0].prompt is empty (also on line 9)",
            ]
        );
    }

    #[test]
    fn only_an_unclear_response_has_advice() {
        let advised = |status: StatusCode, code: &str| {
            let body = format!(r#"{{"title": "t", "detail": "d", "code": "{code}"}}"#);
            let mut response = ErrorResponse::new(status, body.as_bytes());
            response.advise_unless_refused("repeat it".into());
            response.to_string().contains("repeat it")
        };
        assert!(advised(StatusCode::SERVICE_UNAVAILABLE, "overloaded"));
        assert!(advised(StatusCode::INTERNAL_SERVER_ERROR, "internal"));
        assert!(!advised(StatusCode::SERVICE_UNAVAILABLE, "paused"));
        assert!(!advised(
            StatusCode::UNPROCESSABLE_ENTITY,
            "validation_failed"
        ));
    }

    #[test]
    fn one_error_is_one_line_and_several_have_a_heading() {
        let text = |errors: &str| {
            let body =
                format!(r#"{{"title": "Validation failed", "detail": "d", "errors": [{errors}]}}"#);
            ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, body.as_bytes()).to_string()
        };
        let (a, b) = (
            r#"{"field": "a", "message": "is new"}"#,
            r#"{"field": "b", "message": "is old"}"#,
        );
        assert_eq!(text(""), "Validation failed: d");
        assert_eq!(text(a), "a is new");
        assert_eq!(
            text(&format!("{a},{b}")),
            "Validation failed\n  a is new\n  b is old"
        );
    }
}
