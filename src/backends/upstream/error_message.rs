//! Extracts the message of an error answer and sanitizes it for callers.

use serde_json::Value;

const MAX_CHARS: usize = 300;
/// Shorter texts are not redacted: they occur in ordinary sentences.
const MIN_REDACTED_BYTES: usize = 6;

/// The text of an error answer: `error.message`, else `error` itself, else `message`, else `detail` (also as a list with
/// `msg`), else a plain-text body.
///
/// A single-word `error` is a code: a `message` or `detail` beside it takes precedence.
pub fn error_message(body: &[u8]) -> Option<String> {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(list)) => list.first().and_then(message_of),
        Ok(value) => message_of(&value),
        Err(_) => plain(body),
    }
}

fn message_of(value: &Value) -> Option<String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map(str::to_owned)
            .filter(|it| !it.is_empty())
    };
    let own = value.get("message").and_then(text).or_else(|| {
        let detail = value.get("detail").or_else(|| value.get("details"))?;
        let first = detail.get(0).unwrap_or(detail);
        text(first).or_else(|| first.get("msg").and_then(text))
    });
    match value.get("error") {
        Some(Value::String(word)) if !word.contains(' ') => own.or_else(|| Some(word.clone())),
        Some(Value::String(sentence)) => Some(sentence.clone()),
        Some(error @ Value::Object(_)) => error.get("message").and_then(text).or(own),
        _ => own.or_else(|| text(value)),
    }
}

/// A plain-text body; `None` for HTML and binary data.
fn plain(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim();
    let is_readable = !text.is_empty() && !text.starts_with(['<', '{', '[']) && text.len() <= 4_096;
    is_readable.then(|| text.to_owned())
}

/// One line of printable ASCII, at most [`MAX_CHARS`] long, without addresses, paths or any of the `redactions`.
pub(super) fn sanitize(text: &str, redactions: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in redactions
        .iter()
        .filter(|it| it.len() >= MIN_REDACTED_BYTES)
    {
        text = text.replace(secret.as_str(), "[removed]");
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word = if is_address(word) { "[removed]" } else { word };
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(
            word.chars()
                .map(|it| if it.is_ascii_graphic() { it } else { '?' }),
        );
        if line.len() > MAX_CHARS {
            line.truncate(MAX_CHARS - 3);
            line.truncate(line.trim_end().len());
            line.push_str("...");
            break;
        }
    }
    line
}

/// Is it a URL, a network address, a host with a port, or a file path?
fn is_address(word: &str) -> bool {
    let bare = word.trim_matches(|it: char| !it.is_ascii_alphanumeric() && !"/[]:".contains(it));
    let unwrapped = bare.trim_matches(['[', ']', ':']);
    let path = |text: &str| text.starts_with('/') && text[1..].contains('/');
    let windows = |text: &str| {
        let mut it = text.chars();
        it.next().is_some_and(|it| it.is_ascii_alphabetic())
            && it.next() == Some(':')
            && matches!(it.next(), Some('\\' | '/'))
    };
    word.contains("://")
        || path(bare)
        || windows(bare)
        || unwrapped.parse::<std::net::IpAddr>().is_ok()
        || bare.parse::<std::net::SocketAddr>().is_ok()
        || bare.rsplit_once(':').is_some_and(|(host, port)| {
            (host.contains('.') || host == "localhost") && port.parse::<u16>().is_ok()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_found_in_the_forms_that_servers_write() {
        for (body, text) in [
            (r#"{"error":{"message":"too long","code":"x"}}"#, "too long"),
            (r#"{"error":"size is not allowed"}"#, "size is not allowed"),
            (
                r#"{"error":"server_error","message":"no memory"}"#,
                "no memory",
            ),
            (
                r#"{"error":"HTTPException","detail":"Not Found","errors":""}"#,
                "Not Found",
            ),
            (r#"{"error":"oops"}"#, "oops"),
            (r#"{"detail":"bad size"}"#, "bad size"),
            (
                r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
                "field required",
            ),
            (r#"[{"error":{"message":"in a list"}}]"#, "in a list"),
            (r#"{"error":{"message":null},"message":"outer"}"#, "outer"),
            ("Service is starting\n", "Service is starting"),
        ] {
            assert_eq!(
                error_message(body.as_bytes()).as_deref(),
                Some(text),
                "{body}"
            );
        }
        for none in [
            "",
            "{}",
            "null",
            "<html>502</html>",
            "[]",
            "{\"error\":{}}",
            "{\"a",
        ] {
            assert_eq!(error_message(none.as_bytes()), None, "{none}");
        }
        assert_eq!(error_message(&[0xff, 0xfe, 0x00]), None);
    }

    #[test]
    fn a_text_is_one_line_of_ascii_without_addresses_and_secrets() {
        let redactions = ["sk-verysecret".to_owned(), "gpu.example".to_owned()];
        let clean = |text: &str| sanitize(text, &redactions);
        assert_eq!(clean("a\r\n\tb\u{1b}[31m \u{fc}"), "a b?[31m ?");
        assert_eq!(clean("key sk-verysecret is old"), "key [removed] is old");
        assert_eq!(clean("see https://gpu.example/x."), "see [removed]");
        for address in [
            "http://a/b",
            "127.0.0.1",
            "10.0.0.7:8188",
            "(10.0.0.7:8188)",
            "[::1]:80",
            "fe80::1",
            "localhost:8000",
            "gpu1.lan:8000,",
            "/srv/op/models/x.safetensors",
            "C:\\models\\x",
            "'/srv/a/b'",
        ] {
            assert_eq!(
                clean(&format!("at {address} now")),
                "at [removed] now",
                "{address}"
            );
        }
        for kept in [
            "1024x1024",
            "16:9",
            "ratio:",
            "and/or",
            "size=1:1,",
            "12:30",
        ] {
            assert_eq!(clean(kept), kept);
        }
    }

    #[test]
    fn a_long_text_is_truncated() {
        let long = sanitize(&"word ".repeat(1_000), &[]);
        assert!(long.len() <= MAX_CHARS && long.ends_with("..."), "{long}");
        assert!(sanitize(&"x".repeat(5_000), &[]).len() <= MAX_CHARS);
    }
}
