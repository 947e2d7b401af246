//! A configured backend, which generates images.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::comfyui::ComfyUiSettings;
use super::openai::OpenAiDialect;
use super::sdapi::SdApiSettings;
use super::secret::Secret;

/// The backend that always exists. Tiers use it until the operator names another.
pub const BUILTIN_BACKEND: &str = "builtin";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backend {
    #[serde(flatten)]
    pub kind: BackendKind,
    /// How many images it generates at the same time.
    pub concurrency: usize,
    /// Does `concurrency` limit all nodes of a cluster together, or each of them?
    pub shared: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BackendKind {
    /// The built-in generator.
    Procedural,
    Gemini {
        #[serde(flatten)]
        remote: Remote,
        /// For tiers that name no model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The OpenAI images API, which many local servers implement too.
    OpenAi {
        #[serde(flatten)]
        remote: Remote,
        /// For tiers that name no model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(flatten)]
        dialect: OpenAiDialect,
    },
    /// The `/sdapi/v1` API of AUTOMATIC1111 and its forks. The API key is `user:password` there.
    SdApi {
        #[serde(flatten)]
        remote: Remote,
        #[serde(flatten)]
        settings: SdApiSettings,
    },
    ComfyUi {
        #[serde(flatten)]
        remote: Remote,
        #[serde(flatten)]
        settings: ComfyUiSettings,
    },
}

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
    /// Of one attempt.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

impl Backend {
    /// `None`: the built-in generator.
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
