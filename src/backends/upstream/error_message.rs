//! Extracts the message of an error response and sanitizes it for callers.

use super::redaction::redact;
use serde_json::Value;
use tintype_api::visible_text::is_invisible;

const MAX_CHARS: usize = 300;
/// What servers write around an address within a word.
const SEPARATORS: [char; 8] = ['=', '(', ')', '\'', '"', '`', ',', ';'];

/// The text of an error response: `error.message`, else `error` itself, else `message`, else `detail` (also as a list with
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
        Some(Value::String(word)) if !word.contains(' ') => own.or_else(|| {
            // A1111: the class of an exception, and its text in `errors`.
            let errors = value.get("errors").and_then(text);
            Some(errors.map_or_else(|| word.clone(), |it| format!("{word}: {it}")))
        }),
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

/// One line of visible characters, at most [`MAX_CHARS`] long, without addresses, paths or any of the `redactions`.
///
/// Letters of all scripts stay, for the operator; see [`for_caller`].
pub(super) fn sanitize(text: &str, redactions: &[String]) -> String {
    let text = redact(text, redactions);
    let (mut line, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let word = if is_address(word) { "[removed]" } else { word };
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        line.extend(
            word.chars()
                .map(|it| if is_invisible(it) { '?' } else { it }),
        );
        length += word.chars().count();
        if length > MAX_CHARS {
            let kept: String = line.chars().take(MAX_CHARS - 3).collect();
            return format!("{}...", kept.trim_end());
        }
    }
    line
}

/// A sanitized text for the error of a job, which is ASCII: empty if most of the text would be lost.
pub fn for_caller(text: String) -> String {
    let written = || text.chars().filter(|it| !it.is_whitespace());
    let lost = written().filter(|it| !it.is_ascii()).count();
    match lost * 2 > written().count() {
        true => String::new(),
        false => text,
    }
}

/// Does the word contain a URL, a network address, a host with a port, or a file path?
fn is_address(word: &str) -> bool {
    word.contains("://") || word.split(SEPARATORS).any(is_bare_address)
}

fn is_bare_address(word: &str) -> bool {
    let bare = word.trim_matches(|it: char| !it.is_ascii_alphanumeric() && !"/[]:".contains(it));
    let unwrapped = bare.trim_matches(['[', ']', ':']);
    let path = |text: &str| text.starts_with('/') && text[1..].contains('/');
    let windows = |text: &str| {
        let mut it = text.chars();
        it.next().is_some_and(|it| it.is_ascii_alphabetic())
            && it.next() == Some(':')
            && matches!(it.next(), Some('\\' | '/'))
    };
    path(bare)
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
                r#"{"error":"OutOfMemoryError","detail":"","body":"","errors":"CUDA out of memory."}"#,
                "OutOfMemoryError: CUDA out of memory.",
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
        assert_eq!(
            clean("a\r\n\tb\u{1b}[31m \u{fc} \u{202e}c"),
            "a b?[31m \u{fc} ?c"
        );
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
            "path=/srv/a/b",
            "open('/srv/a/b')",
            "[address=10.0.0.7]",
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
    fn a_caller_gets_no_text_of_question_marks() {
        let of = |text: &str| for_caller(text.to_owned());
        assert_eq!(of("d\u{e9}j\u{e0} vu"), "d\u{e9}j\u{e0} vu");
        assert_eq!(of("\u{4eca}\u{65e5} PNG \u{4e0d}\u{884c}"), "");
        assert_eq!(of(""), "");
    }

    #[test]
    fn a_long_text_is_truncated() {
        let long = sanitize(&"word ".repeat(1_000), &[]);
        assert!(long.len() <= MAX_CHARS && long.ends_with("..."), "{long}");
        assert!(sanitize(&"x".repeat(5_000), &[]).len() <= MAX_CHARS);
        let long = sanitize(&"\u{4eca} ".repeat(1_000), &[]);
        assert!(long.chars().count() <= MAX_CHARS && long.ends_with("..."));
    }
}
