//! The body of `POST /v1/batches`.

use crate::compat::openai::expires_after;
use crate::compat::openai::metadata;
use crate::compat::openai::object_ids::{WireFileId, no_such_file};
use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::Object;
use crate::compat::request_body::scanner::MAX_DEPTH;
use tintype_storage::domain::file_batch::{BatchEndpoint, FileBatchTerms};
use tintype_storage::json::Json;

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
        let body = Object::of("", &json)?;
        let (_, path) = body.required("endpoint")?;
        let endpoint = ENDPOINTS.into_iter().find(|it| path_of(*it) == path);
        let endpoint = endpoint.ok_or_else(|| {
            let [first, second] = ENDPOINTS.map(path_of);
            let message =
                format!("must be `{first}` or `{second}`; batches do not support other endpoints");
            Refusal::field("endpoint", message)
        })?;
        if body.required("completion_window")?.1 != COMPLETION_WINDOW {
            let message = format!("must be `{COMPLETION_WINDOW}`");
            return Err(Refusal::field("completion_window", message));
        }
        let (field, id) = body.required("input_file_id")?;
        let input = match WireFileId::parse(id) {
            Some(WireFileId::Uploaded(file)) => file,
            _ => return Err(no_such_file(id, &field)),
        };
        let results_lifetime_seconds = results_lifetime(&body)?;
        let metadata = metadata::read(&body)?;
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

fn results_lifetime(body: &Object<'_>) -> Result<Option<u32>, Refusal> {
    let Some(policy) = body.get("output_expires_after")? else {
        return Ok(None);
    };
    let members = policy.object()?;
    let text = |name| -> Result<_, Refusal> {
        Ok(members.get(name)?.and_then(|found| match found.value {
            Json::String(text) | Json::Number(text) => Some(text.as_str()),
            _ => None,
        }))
    };
    expires_after::read(&policy.path, text("anchor")?, text("seconds")?).map(Some)
}
