//! Marks of the services that use an object store, `services/<id>`. To a service, the objects of another one look like orphans.
//! So it deletes none while the store has the mark of another service: one whose data directory was not mounted, or that has been
//! given the same bucket.

use super::bootstrap;
use super::orphaned_objects::SweepError;
use crate::application::services::JobService;
use bytes::Bytes;
use futures_util::TryStreamExt as _;

const PREFIX: &str = "services";

/// Writes the mark of this service, and returns the marks of other services. The id of a service is that of its oldest account, which
/// cannot be deleted: nodes share it, and a restore or a move keeps it.
///
/// # Errors
/// A store failed.
pub async fn others(jobs: &JobService) -> Result<Vec<String>, SweepError> {
    let account = bootstrap::oldest(&jobs.core).await?;
    let own = account.map(|it| format!("{PREFIX}/{}", it.id));
    let found = jobs.objects.list(PREFIX);
    let mut marks: Vec<String> = found
        .map_ok(|it| it.location.to_string())
        .try_collect()
        .await?;
    if let Some(own) = &own
        && !marks.contains(own)
    {
        let text = Bytes::from_static(b"a Tintype service stores its images here\n");
        jobs.objects.put(own, text, "text/plain").await?;
    }
    marks.retain(|it| Some(it) != own.as_ref());
    Ok(marks)
}
