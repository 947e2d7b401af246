//! Batch ids on the command line: as the native interface shows them, or with the prefix of the OpenAI interface.

use crate::compat::parse_openai_batch_id;
use tintype_storage::domain::ids::BatchId;

pub fn parse_batch_id(text: &str) -> Result<BatchId, String> {
    let id = parse_openai_batch_id(text).or_else(|| text.parse().ok());
    id.ok_or_else(|| {
        "expected the id of a batch as `tintype batch list`, the panel or POST /v1/batches shows it"
            .to_owned()
    })
}
