//! The keys of every backend behind HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::config::addresses::base_url;
use crate::config::environment::{FILE_SUFFIX, secret_in};
use crate::config::headers::headers;
use crate::config::reader::Section;
use crate::config::secret::Secret;
use crate::config::values::{accept_if, integer, or_empty, redacted};

/// The settings of every backend behind HTTP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remote {
    /// `http` or `https`, without a slash at the end.
    pub base_url: String,
    /// Of one attempt.
    pub timeout_seconds: u64,
    /// Further attempts after a transient error.
    pub retries: u32,
    /// The configured key, or the one from the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
    /// The environment variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Sent with every request. The values may be secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
}

impl Remote {
    pub(super) const KEYS: [&str; 6] = [
        "base_url",
        "timeout_seconds",
        "retries",
        "headers",
        "api_key",
        "api_key_env",
    ];

    /// `timeout` is the default of the kind, in seconds.
    pub(super) fn read(s: &mut Section<'_>, timeout: u64, takes_key: bool) -> Self {
        let (api_key, api_key_env) = if takes_key { api_key(s) } else { (None, None) };
        Self {
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

    /// Of one attempt.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
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
