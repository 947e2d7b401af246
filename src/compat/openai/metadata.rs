//! `metadata` of requests.

use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::Object;
use tintype_storage::json::Json;

/// The name of the member.
const FIELD: &str = "metadata";
/// OpenAI's limits.
const MAX_PAIRS: usize = 16;
const MAX_KEY_CHARS: usize = 64;
const MAX_VALUE_CHARS: usize = 512;
/// Maximum bytes as JSON, because it is part of a record. Enough for all pairs in ASCII.
const MAX_BYTES: usize = 10_240;

/// # Errors
/// The value is not an object of strings within OpenAI's limits.
pub fn read(body: &Object<'_>) -> Result<Option<Json>, Refusal> {
    let fault = |message: String| Err(Refusal::field(FIELD, message));
    let Some(metadata) = body.get(FIELD)? else {
        return Ok(None);
    };
    let members = metadata.object()?;
    if members.members().count() > MAX_PAIRS {
        return fault(format!("may have at most {MAX_PAIRS} pairs"));
    }
    for (key, value) in members.members() {
        let Json::String(value) = value else {
            return fault("must have only string values".into());
        };
        if key.chars().count() > MAX_KEY_CHARS || value.chars().count() > MAX_VALUE_CHARS {
            return fault(format!(
                "may have keys of at most {MAX_KEY_CHARS} characters and values of at most {MAX_VALUE_CHARS}"
            ));
        }
    }
    if metadata.value.to_compact().len() > MAX_BYTES {
        return fault(format!("may have at most {MAX_BYTES} bytes as JSON"));
    }
    Ok(Some(metadata.value.clone()))
}
