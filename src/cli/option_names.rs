//! Names the options of a command in the errors of a server, which name the fields of its request.

use super::output::{escape_control_chars, truncate};
use serde_json::Value;

/// Fields whose option has another name.
const OPTIONS: [(&str, &str); 10] = [
    ("Idempotency-Key", "--idempotency-key"),
    ("account_id", "--account"),
    ("batch_id", "--batch"),
    ("expires_at", "--expires"),
    ("input_images_urls", "--input"),
    ("job_id", "--job"),
    ("key_id", "--key"),
    ("overlap_hours", "--overlap"),
    ("tier", "--model"),
    ("webhook_id", "--webhook"),
];
/// Maximum characters quoted of a value.
const MAX_VALUE_CHARS: usize = 60;

/// Replaces the field by the option that the user typed, and quotes its value in the `request`. A field that the command sets from an
/// argument without an option keeps its name.
pub fn describe(request: &Value, field: &str, message: &str) -> String {
    let typed = std::env::args_os().map(|it| it.to_string_lossy().into_owned());
    describe_typed(&typed.collect::<Vec<_>>(), request, field, message)
}

fn describe_typed(typed: &[String], request: &Value, field: &str, message: &str) -> String {
    // The limits of an account are an object of their own in the request.
    let (fields, path) = match field.strip_prefix("limits.") {
        Some(path) => (&request["limits"], path),
        None => (request, field),
    };
    let name = path.split(['.', '[']).next().unwrap_or_default();
    let option = OPTIONS.iter().find(|(field, _)| *field == name);
    let option = option.map_or_else(
        || format!("--{}", name.replace('_', "-")),
        |(_, option)| (*option).to_owned(),
    );
    let is_typed = typed.iter().any(|argument| {
        let value = argument.strip_prefix(&option);
        value.is_some_and(|it| it.is_empty() || it.starts_with('='))
    });
    // The user typed both numbers of a rate in one option.
    let message = match path.split_once('.') {
        Some((_, part)) if is_typed => format!("{part} {message}"),
        _ => message.to_owned(),
    };
    match (value_text(&fields[name], path), is_typed) {
        (Some(value), true) => format!("{option} `{value}`: {message}"),
        (None, true) => format!("{option}: {message}"),
        (Some(value), false) => format!("{field} `{value}`: {message}"),
        (None, false) => format!("{field} {message}"),
    }
}

/// A value as the user types it. `path` may end with the position of an entry.
fn value_text(value: &Value, path: &str) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(entries) => {
            let position = path.split_once('[').and_then(|(_, it)| it.split_once(']'));
            let position = position.and_then(|(it, _)| it.parse::<usize>().ok())?;
            return value_text(entries.get(position)?, "");
        }
        Value::Object(rate) => format!("{}/{}", rate.get("per_second")?, rate.get("burst")?),
        Value::Null | Value::Bool(_) => return None,
    };
    Some(escape_control_chars(&truncate(&text, MAX_VALUE_CHARS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_names_the_option_and_its_value() {
        let request = json!({
            "name": "", "balance": "12x", "amount": "-5000", "models": ["fast", "nb2"], "expires_at": "t",
            "limits": {"rate_limit": {"per_second": 5, "burst": 0}, "max_concurrent": 0},
            "prompt": "a\u{1b}".repeat(50), "input_images_urls": ["http://a/", "http://10.0.0.1/x.png"],
        });
        let typed = "tintype x --balance=12x --models fast,nb2 --expires t --rate-limit 5/0 --max-concurrent 0 --input y --input z";
        let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        for (field, expected) in [
            ("balance", "--balance `12x`: is bad"),
            ("models[1]", "--models `nb2`: is bad"),
            ("models", "--models: is bad"),
            ("expires_at", "--expires `t`: is bad"),
            (
                "limits.rate_limit.burst",
                "--rate-limit `5/0`: burst is bad",
            ),
            ("limits.max_concurrent", "--max-concurrent `0`: is bad"),
            (
                "input_images_urls[1]",
                "--input `http://10.0.0.1/x.png`: is bad",
            ),
            // Arguments without an option.
            ("amount", "amount `-5000`: is bad"),
            ("name", "name ``: is bad"),
            ("unknown", "unknown is bad"),
            ("body", "body is bad"),
        ] {
            assert_eq!(describe_typed(&typed, &request, field, "is bad"), expected);
        }
        let prompt = describe_typed(&typed, &request, "prompt", "is bad");
        assert!(prompt.starts_with(r"prompt `a\u{1b}a"), "{prompt}");
        assert!(prompt.ends_with("...`: is bad"), "{prompt}");
    }
}
