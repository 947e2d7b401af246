//! What makes the pictures: a configured back end, by kind.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::comfyui::ComfyUiSettings;
use super::openai::OpenAiDialect;
use super::sdapi::SdApiSettings;
use super::secret::Secret;

/// The back end that is always there, and that the tiers use until the operator names another.
pub const BUILTIN_BACKEND: &str = "builtin";

/// One configured back end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backend {
    /// What speaks to it, and the settings of that kind.
    #[serde(flatten)]
    pub kind: BackendKind,
    /// How many pictures it makes at the same time.
    pub concurrency: usize,
    /// Where several nodes share the records: do they make so many at the same time together, or each of them?
    pub shared: bool,
}

/// The kinds of back end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BackendKind {
    /// The built-in generator.
    Procedural,
    /// The Gemini API.
    Gemini {
        /// Where it is and how it is called.
        #[serde(flatten)]
        remote: Remote,
        /// The model where a tier names none.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The images part of the OpenAI API, as many local servers speak it too.
    OpenAi {
        /// Where it is and how it is called.
        #[serde(flatten)]
        remote: Remote,
        /// The model where a tier names none.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// How this server reads that API.
        #[serde(flatten)]
        dialect: OpenAiDialect,
    },
    /// The `/sdapi/v1` interface of AUTOMATIC1111 and its relatives. The API key is `user:password` there.
    SdApi {
        /// Where it is and how it is called.
        #[serde(flatten)]
        remote: Remote,
        /// How pictures are made there.
        #[serde(flatten)]
        settings: SdApiSettings,
    },
    /// ComfyUI.
    ComfyUi {
        /// Where it is and how it is called.
        #[serde(flatten)]
        remote: Remote,
        /// How pictures are made there.
        #[serde(flatten)]
        settings: ComfyUiSettings,
    },
}

/// What every back end behind HTTP has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remote {
    /// `http` or `https`, without a slash at the end.
    pub base_url: String,
    /// The bound of one try.
    pub timeout_seconds: u64,
    /// How many more tries follow a transient fault.
    pub retries: u32,
    /// The key, be it written down or found in the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
    /// The environment variable that the key was to be found in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Headers sent with every request; the values may be secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
}

impl Remote {
    /// The bound of one try.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

impl Backend {
    /// What every back end behind HTTP has; `None` for the built-in generator.
    pub fn remote(&self) -> Option<&Remote> {
        match &self.kind {
            BackendKind::Procedural => None,
            BackendKind::Gemini { remote, .. }
            | BackendKind::OpenAi { remote, .. }
            | BackendKind::SdApi { remote, .. }
            | BackendKind::ComfyUi { remote, .. } => Some(remote),
        }
    }
}
