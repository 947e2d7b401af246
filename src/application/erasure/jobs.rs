//! Erases the content of an ended job on request: the texts of its caller, of backends and of receivers, and the image.

use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::Subject;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{Error, object_store_fault};
use crate::application::images::deletion;
use crate::application::jobs::no_job;
use crate::application::services::JobService;
use crate::objects::{NamedObject, ObjectRole};
use serde_json::json;
use std::sync::Arc;
use tintype_actors::round::decide;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::store::AttemptErasure;

/// Erases a job, to the end even if the caller disconnects. Its state, price, shape, key and times stay. A pending delivery is still
/// sent, with the erased record. Idempotent.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` if the job has not ended; `StorageUnavailable`: a repeated call continues
pub async fn erase(
    jobs: &Arc<JobService>,
    caller: &Caller,
    account: AccountId,
    id: JobId,
) -> Result<(), Error> {
    let audit = caller.require_operator()?.clone();
    let jobs = Arc::clone(jobs);
    detached(async move {
        let core = &jobs.core;
        let job = core.store.job(account, id).await?.ok_or_else(no_job)?;
        if !job.state.is_terminal() {
            let detail = "the job has not ended; cancel it, or wait until it ends";
            return Err(Error::conflict(detail));
        }
        // Before the record: a repeated call that looks for jobs by their metadata finds no erased job.
        erase_attempts(core, account, vec![DeliveryId(id.0)]).await?;
        // Without the lock: the object store may take minutes.
        delete_objects(&jobs, texts_of(&job)).await?;
        // Retention and the search index change the same records under this lock.
        let guard = core.locks.content.lock().await?;
        let job = core.store.job(account, id).await?.ok_or_else(no_job)?;
        let erased = core
            .store
            .erase_jobs(account, std::slice::from_ref(&job), core.now());
        let mut writes = erased.await?;
        if writes.is_empty() {
            drop(guard);
        } else {
            let before = json!({"status": job.state.as_str()});
            let subject = Subject::of(account, id.0);
            writes.push(audit.record(core, Action::JobErase, subject, Some(before), None));
            core.commit(Change::under_lock(guard, writes)).await?;
        }
        // Again after the record: an attempt that was recorded in between may have read the job before.
        erase_attempts(core, account, vec![DeliveryId(id.0)]).await?;
        delete_objects(&jobs, NamedObject::of_job(&job)).await
    })
    .await
}

/// Erases what the attempts of deliveries have sent and received, in one decision: an account may have very many deliveries.
pub async fn erase_attempts(
    core: &Core,
    account: AccountId,
    deliveries: Vec<DeliveryId>,
) -> Result<(), Error> {
    let erasure = AttemptErasure {
        account,
        deliveries,
    };
    Ok(decide(&core.store, erasure).await?)
}

/// The objects with texts of a job. They are deleted before its record is erased: an erased record does not name them, so that no repeated
/// call could delete them if the store refuses.
pub fn texts_of(job: &Job) -> impl Iterator<Item = NamedObject> {
    let is_text = |it: &NamedObject| match it.role {
        ObjectRole::JobText | ObjectRole::InputUrls => true,
        ObjectRole::Input | ObjectRole::Image | ObjectRole::BatchText | ObjectRole::Upload => false,
    };
    NamedObject::of_job(job).filter(is_text)
}

/// Deletes objects of erased records, or of records that are to be erased.
pub async fn delete_objects(
    jobs: &JobService,
    objects: impl IntoIterator<Item = NamedObject>,
) -> Result<(), Error> {
    for object in objects {
        let deleted = match object.role {
            ObjectRole::Image => deletion::delete_objects(jobs, &object.key).await,
            _ => jobs.objects.delete(&object.key).await,
        };
        deleted.map_err(|error| {
            let detail = "an object could not be deleted; repeat the call";
            object_store_fault(error, "could not delete an object of an erasure", detail)
        })?;
    }
    Ok(())
}
