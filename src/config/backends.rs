//! Reads `[backends.*]`. Each kind has its own keys, and a key of another kind is refused.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};

use super::addresses::base_url;
use super::backend::{BUILTIN_BACKEND, Backend, BackendKind, Remote};
use super::comfyui::ComfyUiSettings;
use super::error::printable;
use super::openai::OpenAiDialect;
use super::reader::{Field, Section};
use super::sdapi::SdApiSettings;
use super::secret::Secret;
use super::suggest::nearest;
use super::values::{boolean, fitting, free_name, integer, or_empty, private, text};

const MAX_BACKENDS: usize = 64;
const MAX_HEADERS: usize = 32;
const KINDS: [&str; 5] = ["procedural", "gemini", "openai", "sdapi", "comfyui"];

/// The keys that some kinds have and others do not.
const OF_SOME_KINDS: [&[&str]; 3] = [
    &[
        "base_url",
        "timeout_seconds",
        "retries",
        "headers",
        "api_key",
        "api_key_env",
        "model",
    ],
    SdApiSettings::KEYS,
    ComfyUiSettings::KEYS,
];

/// Headers that the HTTP client writes itself.
const RESERVED_HEADERS: [&str; 6] = [
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
];

/// Reads all back ends. A faulty one is left out, its faults noted.
pub(super) fn read(mut all: Section<'_>) -> BTreeMap<String, Backend> {
    let mut backends = BTreeMap::new();
    for (index, name) in all.names().enumerate() {
        let Some(field) = all.field(name) else {
            continue;
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if index == MAX_BACKENDS {
            field.fault(format!("expected at most {MAX_BACKENDS} back ends"));
            break;
        }
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            field.fault("expected a name of 1 to 64 letters, digits, `-` and `_`".to_owned());
        } else if let Some(backend) = field.section().and_then(|section| one(name, section)) {
            backends.insert(name.to_owned(), backend);
        }
    }
    backends
}

fn one(name: &str, mut s: Section<'_>) -> Option<Backend> {
    let Some(kind) = s.field("kind") else {
        s.fault(
            "kind",
            format!("missing, expected one of: {}", KINDS.join(", ")),
        );
        return None;
    };
    let known = |word: &str| {
        let position = KINDS.iter().position(|kind| *kind == word);
        position.map(|at| KINDS[at]).ok_or_else(|| {
            let hint =
                nearest(word, KINDS).map_or(String::new(), |m| format!(" (did you mean `{m}`?)"));
            format!("one of: {}{hint}", KINDS.join(", "))
        })
    };
    let word = text(known)(&kind)?;
    if name == BUILTIN_BACKEND && word != "procedural" {
        kind.fault(format!(
            "the back end `{BUILTIN_BACKEND}` is always procedural; give this one another name"
        ));
        return None;
    }
    // One at a time is what a local server with one graphics card does; the hosted ones take many.
    let (concurrency, timeout) = match word {
        "procedural" => (2, 0),
        "gemini" => (16, 120),
        "openai" => (4, 300),
        _ => (1, 300),
    };
    let concurrency = s
        .optional("concurrency", integer(1..=4096))
        .unwrap_or(concurrency);
    // Such a server drives one machine, no matter which node asks it.
    let shared = s
        .optional("shared", boolean)
        .unwrap_or(matches!(word, "sdapi" | "comfyui"));
    let kind = match word {
        "gemini" => BackendKind::Gemini {
            remote: remote(&mut s, timeout, true),
            model: name_of(&mut s, "model"),
        },
        "openai" => BackendKind::OpenAi {
            remote: remote(&mut s, timeout, true),
            model: name_of(&mut s, "model"),
            dialect: OpenAiDialect::read(&mut s),
        },
        "sdapi" => BackendKind::SdApi {
            remote: remote(&mut s, timeout, true),
            settings: SdApiSettings::read(&mut s),
        },
        "comfyui" => BackendKind::ComfyUi {
            remote: remote(&mut s, timeout, false),
            settings: ComfyUiSettings::read(&mut s),
        },
        _ => BackendKind::Procedural,
    };
    s.finish_kind(word);
    Some(Backend {
        kind,
        concurrency,
        shared,
    })
}

fn remote(s: &mut Section<'_>, timeout: u64, takes_key: bool) -> Remote {
    let (api_key, api_key_env) = if takes_key { api_key(s) } else { (None, None) };
    Remote {
        base_url: s.required("base_url", private(base_url)),
        timeout_seconds: s
            .optional("timeout_seconds", integer(1..=86_400))
            .unwrap_or(timeout),
        retries: s.optional("retries", integer(0..=10)).unwrap_or(2),
        api_key,
        api_key_env,
        headers: s.optional("headers", headers).unwrap_or_default(),
    }
}

/// The key as written, or else the one that the environment holds under the name in `api_key_env`. Whether it must be
/// there is judged where a tier uses the back end: an unused one may lack it.
fn api_key(s: &mut Section<'_>) -> (Option<Secret>, Option<String>) {
    let secret = |text: &str| {
        let clean =
            text.len() <= 8192 && text.trim() == text && !text.chars().any(char::is_control);
        let expected = "at most 8192 characters without line breaks and without spaces around them";
        fitting(text, clean, expected).map(Secret::new)
    };
    let variable = |text: &str| {
        let named = (1..=128).contains(&text.len()) && !text.contains(['=', '\0']);
        // Not repeated in the message: whoever mistakes the key for the other one writes the secret itself here.
        let expected = "the name of an environment variable (the key itself goes into api_key)";
        let looks_like_one = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        fitting(text, named && looks_like_one, expected)
    };
    let written = s.optional("api_key", private(or_empty(secret))).flatten();
    let Some(field) = s.field("api_key_env") else {
        return (written, None);
    };
    let Some(name) = private(or_empty(variable))(&field).flatten() else {
        return (written, None);
    };
    let found = s
        .context
        .environment
        .get(&name)
        .filter(|key| !key.is_empty());
    let found = found.and_then(|key| {
        let checked = secret(key);
        if written.is_none()
            && let Err(expected) = &checked
        {
            field.fault(format!(
                "the variable that it names holds no key: expected {expected}"
            ));
        }
        checked.ok()
    });
    (written.or(found), Some(name))
}

/// A table `headers`, of what is sent with every request.
pub(super) fn headers(field: &Field<'_>) -> Option<BTreeMap<String, Secret>> {
    let mut headers = BTreeMap::new();
    let mut table = field.section()?;
    for (index, name) in table.names().enumerate() {
        if index == MAX_HEADERS {
            table.fault("", format!("expected at most {MAX_HEADERS} headers"));
            break;
        }
        let lower = name.to_ascii_lowercase();
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            table.fault(name, "expected the name of an HTTP header".to_owned());
        } else if RESERVED_HEADERS.contains(&lower.as_str()) {
            table.fault(
                name,
                "this header is written by the HTTP client itself".to_owned(),
            );
        } else if headers.contains_key(&lower) {
            table.fault(
                name,
                "this header is there twice, in another spelling".to_owned(),
            );
        }
        let value = |text: &str| match HeaderValue::from_str(text) {
            Ok(_) => Ok(Secret::new(text)),
            Err(_) => Err("the value of an HTTP header, without line breaks".to_owned()),
        };
        if let Some(value) = table.optional(name, private(value)) {
            headers.insert(lower, value);
        }
    }
    Some(headers)
}

/// A name or path of the operator's choosing; empty means none.
fn name_of<'t>(s: &mut Section<'t>, key: &'t str) -> Option<String> {
    s.optional(key, text(or_empty(free_name))).flatten()
}

impl Section<'_> {
    /// As `finish`, saying of a key that belongs to another kind that it does.
    fn finish_kind(self, kind: &str) {
        self.finish_saying(|key| match key {
            "model" if kind == "sdapi" || kind == "comfyui" => {
                Some(format!("unknown key for kind \"{kind}\"; there it is called `checkpoint`"))
            }
            "checkpoint" if kind == "gemini" || kind == "openai" => {
                Some(format!("unknown key for kind \"{kind}\"; there it is called `model`"))
            }
            "api_key" | "api_key_env" if kind == "comfyui" => Some(
                "unknown key for kind \"comfyui\", which has no keys; a proxy's goes into `headers`".to_owned(),
            ),
            _ if OpenAiDialect::KEYS.contains(&key) => Some(format!(
                "unknown key for kind \"{}\"; only \"openai\" has it",
                printable(kind)
            )),
            _ if OF_SOME_KINDS.iter().any(|keys| keys.contains(&key)) => {
                Some(format!("unknown key for kind \"{}\"", printable(kind)))
            }
            _ => None,
        });
    }
}
