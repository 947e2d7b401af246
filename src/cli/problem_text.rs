//! Formats the error response of a server for people.

use std::collections::HashMap;
use tintype_api::Problem;
use tintype_egress::StatusCode;

/// Lists an error that several requests of a batch share once.
pub(super) fn problem_text(status: StatusCode, body: &[u8]) -> String {
    match serde_json::from_slice::<Problem<'_>>(body) {
        Ok(problem) if problem.errors.is_empty() => {
            format!("{}: {}", problem.title, problem.detail)
        }
        Ok(problem) => {
            let errors = problem.errors.iter();
            let errors = errors.map(|it| (it.field.as_ref(), it.message.as_ref()));
            format!("{}\n{}", problem.title, group_errors(errors).join("\n"))
        }
        Err(_) => format!("the server responded with status {status}"),
    }
}

/// One line per error, in order. Errors that differ only in the position of the request share a line.
fn group_errors<'a>(errors: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut groups: Vec<(&str, &str, usize)> = Vec::new();
    let mut known = HashMap::new();
    for (field, message) in errors {
        let group = *known
            .entry((without_position(field), message))
            .or_insert(groups.len());
        match groups.get_mut(group) {
            Some((_, _, repeats)) => *repeats += 1,
            None => groups.push((field, message, 0)),
        }
    }
    let line = |(field, message, repeats)| match repeats {
        0 => format!("  {field} {message}"),
        1 => format!("  {field} {message} (and in 1 more request)"),
        _ => format!("  {field} {message} (and in {repeats} more requests)"),
    };
    groups.into_iter().map(line).collect()
}

/// Splits `requests[3].prompt` into the parts before and after the position. Other fields stay whole.
fn without_position(field: &str) -> (&str, &str) {
    let around = field
        .split_once("requests[")
        .filter(|(before, _)| before.is_empty())
        .and_then(|(_, rest)| rest.split_once(']'));
    match around {
        Some((_, after)) => ("requests", after),
        None => (field, ""),
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
            ("requests[1].model", "is required"),
            ("requests[2].model", "must be a text"),
            ("requests[7].model", "is required"),
            ("requests[7].prompt", "is empty"),
            ("requests[8].inputs[0]", "is damaged"),
            ("requests[8].inputs[1]", "is damaged"),
            ("body", "has 900 more errors that are not listed"),
        ];
        let expected = [
            "  requests[0].model is required (and in 2 more requests)",
            "  requests[0].prompt is empty (and in 1 more request)",
            "  requests[2].model must be a text",
            "  requests[8].inputs[0] is damaged",
            "  requests[8].inputs[1] is damaged",
            "  body has 900 more errors that are not listed",
        ];
        assert_eq!(group_errors(errors.into_iter()), expected);
    }
}
