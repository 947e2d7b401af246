//! Reads `[backends.*]`. Each kind has its own keys, and refuses those of other kinds.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};
use tintype_api::fields::nearest;

use super::addresses::base_url;
use super::backend::{
    BUILTIN_BACKEND, Backend, BackendKind, ComfyUiSettings, OpenAiDialect, Remote, SdApiSettings,
};
use super::environment::{FILE_SUFFIX, secret_in};
use super::error::printable;
use super::reader::{Field, Section};
use super::secret::Secret;
use super::values::{accept_if, boolean, free_name, integer, or_empty, redacted, text};

const MAX_BACKENDS: usize = 64;
const MAX_HEADERS: usize = 32;
const KINDS: [(&str, Kind); 5] = [
    ("procedural", Kind::Procedural),
    ("gemini", Kind::Gemini),
    ("openai", Kind::OpenAi),
    ("sdapi", Kind::SdApi),
    ("comfyui", Kind::ComfyUi),
];

#[derive(Clone, Copy)]
enum Kind {
    Procedural,
    Gemini,
    OpenAi,
    SdApi,
    ComfyUi,
}

/// Keys that only some kinds have.
const KIND_SPECIFIC_KEYS: [&[&str]; 3] = [
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

/// Headers that the HTTP client sets.
const RESERVED_HEADERS: [&str; 6] = [
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
];

/// Reads all backends. Leaves out a faulty one and records its faults.
pub(super) fn read(mut all: Section<'_>) -> BTreeMap<String, Backend> {
    let mut backends = BTreeMap::new();
    for (index, name) in all.names().enumerate() {
        let Some(field) = all.field(name) else {
            continue;
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if index == MAX_BACKENDS {
            field.fault(format!("expected at most {MAX_BACKENDS} backends"));
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
    let names = KINDS.map(|(name, _)| name);
    let listed = names.join(", ");
    let Some(kind) = s.field("kind") else {
        s.fault("kind", format!("missing, expected one of: {listed}"));
        return None;
    };
    let known = |word: &str| {
        let found = KINDS.into_iter().find(|(name, _)| *name == word);
        found.ok_or_else(|| {
            let hint =
                nearest(word, names).map_or(String::new(), |m| format!(" (did you mean `{m}`?)"));
            format!("one of: {listed}{hint}")
        })
    };
    let (word, of_kind) = text(known)(&kind)?;
    if name == BUILTIN_BACKEND && word != "procedural" {
        kind.fault(format!(
            "the backend `{BUILTIN_BACKEND}` is always procedural; give this one another name"
        ));
        return None;
    }
    // A local server with one GPU generates one image at a time. Hosted services accept many requests.
    let (concurrency, timeout) = match of_kind {
        Kind::Procedural => (2, 0),
        Kind::Gemini => (16, 120),
        Kind::OpenAi => (4, 300),
        Kind::SdApi | Kind::ComfyUi => (1, 300),
    };
    let configured = s.optional("concurrency", integer(1..=4096));
    // Such a server runs on one machine, whichever node sends the request.
    let shared = s
        .optional("shared", boolean)
        .unwrap_or(matches!(of_kind, Kind::SdApi | Kind::ComfyUi));
    let kind = match of_kind {
        Kind::Gemini => BackendKind::Gemini {
            remote: remote(&mut s, timeout, true),
            model: name_of(&mut s, "model"),
        },
        Kind::OpenAi => BackendKind::OpenAi {
            remote: remote(&mut s, timeout, true),
            model: name_of(&mut s, "model"),
            dialect: OpenAiDialect::read(&mut s),
        },
        Kind::SdApi => BackendKind::SdApi {
            remote: remote(&mut s, timeout, true),
            settings: SdApiSettings::read(&mut s),
        },
        Kind::ComfyUi => BackendKind::ComfyUi {
            remote: remote(&mut s, timeout, false),
            settings: ComfyUiSettings::read(&mut s),
        },
        Kind::Procedural => BackendKind::Procedural,
    };
    s.finish_kind(word);
    Some(Backend {
        kind,
        concurrency: configured.unwrap_or(concurrency),
        has_default_concurrency: configured.is_none(),
        shared,
    })
}

fn remote(s: &mut Section<'_>, timeout: u64, takes_key: bool) -> Remote {
    let (api_key, api_key_env) = if takes_key { api_key(s) } else { (None, None) };
    Remote {
        base_url: s.required("base_url", redacted(base_url)),
        timeout_seconds: s
            .optional("timeout_seconds", integer(1..=86_400))
            .unwrap_or(timeout),
        retries: s.optional("retries", integer(0..=10)).unwrap_or(2),
        api_key,
        api_key_env,
        headers: s.optional("headers", headers).unwrap_or_default(),
    }
}

/// Returns the configured key, or else the one in the environment variable that `api_key_env` names, or in the file that the variable
/// with `_FILE` after this name names. A backend may lack its key
/// until a tier uses it, so the reader of the tiers checks for it.
fn api_key(s: &mut Section<'_>) -> (Option<Secret>, Option<String>) {
    let secret = |text: &str| {
        let clean =
            text.len() <= 8192 && text.trim() == text && !text.chars().any(char::is_control);
        let expected = "at most 8192 characters without line breaks and without spaces around them";
        accept_if(text, clean, expected).map(Secret::new)
    };
    let variable = |text: &str| {
        let named = (1..=128).contains(&text.len()) && !text.contains(['=', '\0']);
        // The message does not repeat the value: a user who confuses the two keys writes the secret itself here.
        let expected = "the name of an environment variable (the key itself goes into api_key)";
        let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        accept_if(text, named && is_plain, expected)
    };
    let written = s.optional("api_key", redacted(or_empty(secret))).flatten();
    let Some(field) = s.field("api_key_env") else {
        return (written, None);
    };
    let Some(name) = redacted(or_empty(variable))(&field).flatten() else {
        return (written, None);
    };
    let variables = s.context.environment;
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let file = format!("{name}{FILE_SUFFIX}");
    let found = match (set(&name), set(&file)) {
        (None, Some(path)) => secret_in(path)
            .map_err(|message| field.fault(format!("{file}: {message}")))
            .ok(),
        (key, _) => key.cloned(),
    };
    let found = found.and_then(|key| {
        let checked = secret(&key);
        if written.is_none()
            && let Err(expected) = &checked
        {
            field.fault(format!(
                "the variable that it names does not hold a valid key: expected {expected}"
            ));
        }
        checked.ok()
    });
    (written.or(found), Some(name))
}

/// Reads a table of HTTP headers.
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
            table.fault(name, "the HTTP client sets this header itself".to_owned());
        } else if headers.contains_key(&lower) {
            table.fault(
                name,
                "this header is given twice, in different case".to_owned(),
            );
        }
        let value = |text: &str| match HeaderValue::from_str(text) {
            Ok(_) => Ok(Secret::new(text)),
            Err(_) => Err("the value of an HTTP header, without line breaks".to_owned()),
        };
        if let Some(value) = table.optional(name, redacted(value)) {
            headers.insert(lower, value);
        }
    }
    Some(headers)
}

/// A name or path that the operator chooses. Empty means none.
fn name_of<'t>(s: &mut Section<'t>, key: &'t str) -> Option<String> {
    s.optional(key, text(or_empty(free_name))).flatten()
}

impl Section<'_> {
    /// As `finish`, with a message for keys of other kinds.
    fn finish_kind(self, kind: &str) {
        self.finish_with(|key| match key {
            "model" if kind == "sdapi" || kind == "comfyui" => {
                Some(format!("unknown key for kind \"{kind}\"; there it is called `checkpoint`"))
            }
            "checkpoint" if kind == "gemini" || kind == "openai" => {
                Some(format!("unknown key for kind \"{kind}\"; there it is called `model`"))
            }
            "api_key" | "api_key_env" if kind == "comfyui" => Some(
                "unknown key for kind \"comfyui\", which needs no API key; the key of a proxy goes into `headers`".to_owned(),
            ),
            _ if KIND_SPECIFIC_KEYS.iter().any(|keys| keys.contains(&key)) => {
                Some(format!("unknown key for kind \"{}\"", printable(kind)))
            }
            _ if OpenAiDialect::KEYS.contains(&key) => Some(format!(
                "unknown key for kind \"{}\"; only \"openai\" has it",
                printable(kind)
            )),
            _ => None,
        });
    }
}
