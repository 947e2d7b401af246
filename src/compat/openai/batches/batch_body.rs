//! The body of `POST /v1/batches`.

use crate::compat::openai::expires_after;
use crate::compat::openai::metadata;
use crate::compat::openai::object_ids::{WireFileId, no_such_file};
use crate::compat::refusal::Refusal;
use crate::compat::scanner::MAX_DEPTH;
use tintype_storage::domain::file_batch::{BatchEndpoint, FileBatchTerms};
use tintype_storage::domain::json::Json;

/// The endpoints that support batches.
const ENDPOINTS: [BatchEndpoint; 2] = [BatchEndpoint::Generations, BatchEndpoint::Edits];
/// The only supported completion window.
pub const COMPLETION_WINDOW: &str = "24h";

/// The path of an endpoint.
pub fn path_of(endpoint: BatchEndpoint) -> &'static str {
    match endpoint {
        BatchEndpoint::Generations => "/v1/images/generations",
        BatchEndpoint::Edits => "/v1/images/edits",
    }
}

pub struct BatchBody {
    /// The file determines `as_urls`.
    pub terms: FileBatchTerms,
    pub metadata: Option<Json>,
}

impl BatchBody {
    /// Ignores unknown members.
    ///
    /// # Errors
    /// The first missing or invalid member.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body).unwrap_or_default();
        let json = Json::parse(text, MAX_DEPTH)?;
        let Json::Object(members) = json else {
            return Err(Refusal::body("the request body must be a JSON object"));
        };
        let mut fields = Fields(members);
        let path = fields.required("endpoint")?;
        let endpoint = ENDPOINTS.into_iter().find(|it| path_of(*it) == path);
        let endpoint = endpoint.ok_or_else(|| {
            let [first, second] = ENDPOINTS.map(path_of);
            let message =
                format!("must be `{first}` or `{second}`; batches do not support other endpoints");
            Refusal::field("endpoint", message)
        })?;
        if fields.required("completion_window")? != COMPLETION_WINDOW {
            let message = format!("must be `{COMPLETION_WINDOW}`");
            return Err(Refusal::field("completion_window", message));
        }
        let id = fields.required("input_file_id")?;
        let input = match WireFileId::parse(&id) {
            Some(WireFileId::Uploaded(file)) => file,
            _ => return Err(no_such_file(&id, "input_file_id")),
        };
        let results_lifetime_seconds = fields.results_lifetime()?;
        let metadata = metadata::read(fields.take(metadata::FIELD))?;
        Ok(Self {
            terms: FileBatchTerms {
                input,
                metadata: metadata.as_ref().map(Json::to_compact),
                results_lifetime_seconds,
                as_urls: false,
                endpoint,
            },
            metadata,
        })
    }
}

struct Fields(Vec<(String, Json)>);

impl Fields {
    /// Removes and returns a member. `null` counts as missing.
    fn take(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(it, _)| it == name)?;
        Some(self.0.swap_remove(at).1).filter(|it| *it != Json::Null)
    }

    fn required(&mut self, name: &str) -> Result<String, Refusal> {
        match self.take(name) {
            Some(Json::String(text)) => Ok(text),
            Some(_) => Err(Refusal::field(name, "must be a string")),
            None => Err(Refusal::missing(name, "")),
        }
    }

    fn results_lifetime(&mut self) -> Result<Option<u32>, Refusal> {
        const NAME: &str = "output_expires_after";
        let mut policy = match self.take(NAME) {
            None => return Ok(None),
            Some(Json::Object(members)) => Self(members),
            Some(_) => return Err(Refusal::field(NAME, "must be an object")),
        };
        let mut text = |name| match policy.take(name) {
            Some(Json::String(text) | Json::Number(text)) => Some(text),
            _ => None,
        };
        let (anchor, seconds) = (text("anchor"), text("seconds"));
        expires_after::read(NAME, anchor.as_deref(), seconds.as_deref()).map(Some)
    }
}
