//! The image of an earlier job as an input image of a new one.

use super::background::{check_stored, read_fault};
use super::refusal::{Kind, Refusal};
use super::submission::Call;
use crate::application::error::upload_fault;
use crate::application::submission::generation_request::Input;
use crate::inputs::StoredUpload;
use futures_util::StreamExt as _;
use tintype_storage::domain::ids::JobId;
use tokio::time::timeout_at;

/// Copies the image of an earlier job of the account, because a job owns its input images, which are deleted when it ends. `None` if the
/// account has no such job. Errors name `field`, which contains the id of the job.
///
/// # Errors
/// The job has no image, or the image was deleted; there is no memory for it in time; the deadline passes; or the object store fails.
pub async fn copy(call: &Call<'_>, id: JobId, field: &str) -> Result<Option<Input>, Refusal> {
    let (state, account) = (call.state, call.caller.account());
    let Some(job) = state.core.store.job(account, id).await? else {
        return Ok(None);
    };
    let Some(image) = job.result_image() else {
        let message = format!("has no image: its job is {}", job.state.as_str());
        return Err(Refusal::field(field, message));
    };
    check_stored(state, &job).await?;
    let copied = timeout_at(call.deadline, copy_object(call, &image.key, field)).await;
    let copied = copied.unwrap_or_else(|_| {
        let message = "the earlier image could not be read in time; nothing was charged";
        Err(Refusal::new(Kind::Deadline, message))
    });
    Ok(Some(Input::Stored(Box::new(copied?))))
}

async fn copy_object(call: &Call<'_>, key: &str, field: &str) -> Result<StoredUpload, Refusal> {
    let fault = |fault| upload_fault(fault, field);
    let opened = call.state.jobs.objects.chunks(key).await;
    let mut chunks = opened.map_err(read_fault)?;
    let inputs = &call.state.generations.inputs;
    let mut upload = inputs.of(call.caller.account()).begin_upload();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(read_fault)?;
        upload = upload.push(chunk).await.map_err(fault)?;
    }
    Ok(upload.finish().await.map_err(fault)?)
}
