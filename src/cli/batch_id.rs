//! Batch ids on the command line: as the native interface shows them, or with the prefix of the OpenAI interface.

use tintype_storage::domain::ids::BatchId;

const OPENAI_PREFIX: &str = "batch_";

pub fn parse_batch_id(text: &str) -> Result<BatchId, String> {
    let id = text.strip_prefix(OPENAI_PREFIX).unwrap_or(text).parse();
    id.map_err(|_| {
        "expected the id of a batch as `tintype batch list`, the panel or POST /v1/batches shows it"
            .to_owned()
    })
}
