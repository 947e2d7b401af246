//! The configured backends: reads `[backends.*]`. Each kind has its own keys, and refuses those of other kinds.

mod comfyui;
mod openai;
mod readers;
mod remote;
mod sdapi;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tintype_api::fields::nearest;

use super::reader::Section;
use super::values::{boolean, free_name, integer, or_empty, text};

pub use comfyui::ComfyUiSettings;
pub use openai::{ImageField, MaskFormat, OpenAiDialect, ResponseFormat, SeedFormat};
pub use remote::Remote;
pub use sdapi::{PROMPT_PLACEHOLDER, SDAPI_FIELDS, SdApiSettings};

const MAX_BACKENDS: usize = 64;

/// The backend that always exists. Tiers use it until the operator names another.
pub const BUILTIN_BACKEND: &str = "builtin";

/// Of one attempt. The built-in generator has no configured timeout.
const BUILTIN_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backend {
    #[serde(flatten)]
    pub kind: BackendKind,
    /// How many images it generates at the same time.
    pub concurrency: usize,
    /// Is `concurrency` the default of the kind?
    #[serde(skip)]
    pub has_default_concurrency: bool,
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

    /// The address of the server on the operator's graphics card.
    pub(super) fn local_server(&self) -> Option<&str> {
        match &self.kind {
            BackendKind::SdApi { remote, .. } | BackendKind::ComfyUi { remote, .. } => {
                Some(&remote.base_url)
            }
            _ => None,
        }
    }

    /// Do both backends send requests to one server on the operator's graphics card? A backend shares its server with itself.
    pub fn shares_server(&self, other: &Self) -> bool {
        self.local_server().is_some() && self.local_server() == other.local_server()
    }

    /// Of one attempt.
    pub fn timeout(&self) -> Duration {
        self.remote().map_or(BUILTIN_TIMEOUT, |it| it.timeout())
    }

    /// Further attempts after a transient error.
    pub fn retries(&self) -> u32 {
        self.remote().map_or(0, |it| it.retries)
    }
}

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

/// What the key `kind` selects.
struct KindReader {
    name: &'static str,
    /// The default. A local server with one GPU generates one image at a time. Hosted services accept many requests.
    concurrency: usize,
    /// The default. A local server runs on one machine, so all nodes send their requests to it.
    shared: bool,
    /// Reads the keys that only some kinds have.
    read: fn(&mut Section<'_>) -> BackendKind,
}

static KINDS: [KindReader; 5] = [
    KindReader {
        name: "procedural",
        concurrency: 2,
        shared: false,
        read: |_| BackendKind::Procedural,
    },
    KindReader {
        name: "gemini",
        concurrency: 16,
        shared: false,
        read: |s| BackendKind::Gemini {
            remote: Remote::read(s, 120, true),
            model: model(s),
        },
    },
    KindReader {
        name: "openai",
        concurrency: 4,
        shared: false,
        read: |s| BackendKind::OpenAi {
            remote: Remote::read(s, 300, true),
            model: model(s),
            dialect: OpenAiDialect::read(s),
        },
    },
    KindReader {
        name: "sdapi",
        concurrency: 1,
        shared: true,
        read: |s| BackendKind::SdApi {
            remote: Remote::read(s, 300, true),
            settings: SdApiSettings::read(s),
        },
    },
    KindReader {
        name: "comfyui",
        concurrency: 1,
        shared: true,
        read: |s| BackendKind::ComfyUi {
            remote: Remote::read(s, 300, false),
            settings: ComfyUiSettings::read(s),
        },
    },
];

fn one(name: &str, mut s: Section<'_>) -> Option<Backend> {
    let names = || KINDS.iter().map(|it| it.name);
    let listed = names().collect::<Vec<_>>().join(", ");
    let Some(field) = s.field("kind") else {
        s.fault("kind", format!("missing, expected one of: {listed}"));
        return None;
    };
    let known = |word: &str| {
        let found = KINDS.iter().find(|it| it.name == word);
        found.ok_or_else(|| {
            let hint =
                nearest(word, names()).map_or(String::new(), |m| format!(" (did you mean `{m}`?)"));
            format!("one of: {listed}{hint}")
        })
    };
    let reader = text(known)(&field)?;
    if name == BUILTIN_BACKEND && reader.name != "procedural" {
        field.fault(format!(
            "the backend `{BUILTIN_BACKEND}` is always procedural; give this one another name"
        ));
        return None;
    }
    let concurrency = s.optional("concurrency", integer(1..=4096));
    let shared = s.optional("shared", boolean);
    let kind = (reader.read)(&mut s);
    s.finish_with(|key| unknown_key(key, reader.name));
    Some(Backend {
        kind,
        concurrency: concurrency.unwrap_or(reader.concurrency),
        has_default_concurrency: concurrency.is_none(),
        shared: shared.unwrap_or(reader.shared),
    })
}

/// For tiers that name no model. Empty means none.
fn model(s: &mut Section<'_>) -> Option<String> {
    s.optional("model", text(or_empty(free_name))).flatten()
}

/// The message for a key that the kind lacks and another kind has, or `None` if no kind has it.
fn unknown_key(key: &str, kind: &str) -> Option<String> {
    let hint = match (key, kind) {
        ("model", "sdapi" | "comfyui") => "; there it is called `checkpoint`",
        ("checkpoint", "gemini" | "openai") => "; there it is called `model`",
        ("api_key" | "api_key_env", "comfyui") => {
            ", which needs no API key; the key of a proxy goes into `headers`"
        }
        ("model", _) => "",
        _ if Remote::KEYS.contains(&key) => "",
        _ if SdApiSettings::KEYS.contains(&key) || ComfyUiSettings::KEYS.contains(&key) => "",
        _ if OpenAiDialect::KEYS.contains(&key) => "; only \"openai\" has it",
        _ => return None,
    };
    Some(format!("unknown key for kind \"{kind}\"{hint}"))
}
