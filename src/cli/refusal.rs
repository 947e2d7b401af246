//! What the server refused, as people read it.

use std::collections::HashMap;
use tintype_api::Problem;
use tintype_egress::StatusCode;

/// Formats an error answer. A fault that many requests of a batch share is told once.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> String {
    match serde_json::from_slice::<Problem<'_>>(body) {
        Ok(problem) if problem.errors.is_empty() => {
            format!("{}: {}", problem.title, problem.detail)
        }
        Ok(problem) => {
            let faults = problem.errors.iter();
            let faults = faults.map(|it| (it.field.as_ref(), it.message.as_ref()));
            format!("{}\n{}", problem.title, together(faults).join("\n"))
        }
        Err(_) => format!("the server answered {status}"),
    }
}

/// A line for each fault, in order; one line for those that differ only in the position of their request.
fn together<'a>(faults: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut groups: Vec<(&str, &str, usize)> = Vec::new();
    let mut known = HashMap::new();
    for (field, message) in faults {
        let place = *known
            .entry((without_position(field), message))
            .or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, _, further)) => *further += 1,
            None => groups.push((field, message, 0)),
        }
    }
    let line = |(field, message, further)| match further {
        0 => format!("  {field} {message}"),
        1 => format!("  {field} {message}; so in 1 further request"),
        _ => format!("  {field} {message}; so in {further} further requests"),
    };
    groups.into_iter().map(line).collect()
}

/// `requests[3].prompt` as the two texts around the position; other fields whole.
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
    fn a_fault_that_requests_share_is_told_once() {
        let faults = [
            ("requests[0].model", "is required"),
            ("requests[0].prompt", "is empty"),
            ("requests[1].model", "is required"),
            ("requests[2].model", "must be a text"),
            ("requests[7].model", "is required"),
            ("requests[7].prompt", "is empty"),
            ("requests[8].inputs[0]", "is damaged"),
            ("requests[8].inputs[1]", "is damaged"),
            ("body", "has 900 more faults than are listed here"),
        ];
        let expected = [
            "  requests[0].model is required; so in 2 further requests",
            "  requests[0].prompt is empty; so in 1 further request",
            "  requests[2].model must be a text",
            "  requests[8].inputs[0] is damaged",
            "  requests[8].inputs[1] is damaged",
            "  body has 900 more faults than are listed here",
        ];
        assert_eq!(together(faults.into_iter()), expected);
    }
}
