//! Creates a backup from a point-in-time export.

use super::held_copies::{HeldCopies, UnreadableCopy};
use super::keys;
use super::manifest::{Manifest, ObjectTotals};
use super::object_list::{
    Lifetime, ListEntry, ObjectList, ObjectRef, OmitReason, References, referenced_objects,
};
use super::repository::{Repository, digest_chunks, new_id, path, rewind};
use crate::objects::{ERASURE_DELAY, ObjectError, ObjectStorage, is_result};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::{StreamExt as _, stream};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::mem;
use std::path::Path;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::export::Reader;
use tintype_storage::store::tables::{ENDED_JOBS, LIVE_JOBS};
use tokio::time::sleep;

/// Further objects of another length than recorded are only counted.
const MAX_DAMAGED: usize = 100;
/// The backup stops at this many copies that cannot be read: the location is broken, and each read may take long.
const MAX_UNREADABLE: usize = 1_000;
/// Objects copied concurrently.
pub(super) const CONCURRENCY: usize = 4;

/// Asks about a job.
pub type AskJob<'a> = &'a dyn Fn(AccountId, JobId) -> LocalBoxFuture<'a, bool>;

/// The inputs of a backup.
pub struct Contents<'a> {
    /// The directory of the key files. `None` omits them.
    pub data_dir: Option<&'a Path>,
    /// The service's objects. `None` omits them.
    pub objects: Option<&'a ObjectStorage>,
    /// Retention may have removed the results of jobs that ended before the returned time. It moves on while the service runs.
    pub kept_since: &'a dyn Fn() -> Timestamp,
    /// Was the image of a job deleted on demand since the export? The backup asks for missing images, if the service was running.
    pub is_image_deleted: AskJob<'a>,
    /// Was a job erased since the export? The same for missing texts.
    pub is_erased: AskJob<'a>,
    /// A complete export.
    pub records: &'a File,
    /// The time of the export.
    pub taken_at: Timestamp,
    /// Was the service running?
    pub running: bool,
    /// Check every object that the repository holds, and copy damaged ones again.
    pub repair: bool,
    /// Receives progress messages.
    pub say: &'a dyn Fn(String),
}

/// The location holds copies that cannot be read. A backup does not replace them, because the reason may pass.
#[derive(Debug, thiserror::Error)]
#[error("{} in {place} cannot be read, so the backup does not replace them", counted(.faults.len(), "copy"))]
pub struct UnreadableCopies {
    place: String,
    /// A sentence for each.
    pub faults: BTreeSet<String>,
}

impl UnreadableCopies {
    /// Adds the fault of a copy.
    ///
    /// # Errors
    /// It is another fault, or one too many.
    fn add(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        let unreadable = match error.downcast::<UnreadableCopy>() {
            Ok(unreadable) => unreadable,
            Err(other) => {
                return match self.finish() {
                    Ok(()) => Err(other),
                    Err(listed) => Err(listed.context(format!("{other:#}"))),
                };
            }
        };
        self.faults.insert(unreadable.to_string());
        match self.faults.len() < MAX_UNREADABLE {
            true => Ok(()),
            false => self.finish(),
        }
    }

    /// Ends the collection.
    ///
    /// # Errors
    /// There are such copies.
    fn finish(&mut self) -> anyhow::Result<()> {
        let faults = mem::take(&mut self.faults);
        let place = self.place.clone();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Self { place, faults }.into()),
        }
    }
}

/// Writes a backup. It is complete and durable when this returns. A failure leaves no manifest, and so no backup.
///
/// # Errors
/// A record, an object or a key file cannot be read or written, or the repository holds a later backup. [`UnreadableCopies`] lists all of
/// them.
pub async fn create(contents: &Contents<'_>, repository: &Repository) -> anyhow::Result<Manifest> {
    let id = new_id(contents.taken_at.to_datetime());
    // Otherwise `prune` would remove this backup before older ones, and `restore` would take an older one.
    if let Some(last) = repository.ids().await?.last().filter(|last| **last > id) {
        bail!(
            "the newest backup in {}, {last}, is later than this one: the clock was ahead then, or is behind now. Correct the clock. If \
             the clock was ahead, move backups/{last} out of the repository",
            repository.name()
        );
    }
    let outcome = write(contents, repository, &id).await;
    if outcome.is_err() {
        let _ = repository.remove(&id).await;
    }
    outcome.context("the backup failed and is not usable")
}

async fn write(
    contents: &Contents<'_>,
    repository: &Repository,
    id: &str,
) -> anyhow::Result<Manifest> {
    let (images, record_count) = copy_objects(contents, repository, id).await?;
    (contents.say)("writing the records".into());
    let records = repository.put_file(id, "records.jsonl", contents.records);
    let records = records.await?;
    let taken_at = contents.taken_at.to_string();
    let mut manifest = Manifest::new(id.to_owned(), taken_at, records, record_count);
    manifest.running = contents.running;
    manifest.images = images;
    if let Some(data_dir) = contents.data_dir {
        manifest.keys = Some(keys::copy_in(data_dir, repository, id).await?);
    }
    let text = serde_json::to_vec_pretty(&manifest)?;
    let key = path(id, "manifest.json");
    repository
        .objects
        .put(&key, Bytes::from(text), "application/json")
        .await?;
    Ok(manifest)
}

/// Copies the objects that the records reference, and writes their list. Also returns the number of records.
async fn copy_objects(
    contents: &Contents<'_>,
    repository: &Repository,
    id: &str,
) -> anyhow::Result<(Option<ObjectTotals>, u64)> {
    let Some(objects) = contents.objects else {
        let mut reader = Reader::new(rewind(contents.records)?)?;
        while reader.read()?.is_some() {}
        return Ok((None, reader.summary().map_or(0, |it| it.records)));
    };
    let earlier = match previous_list(repository).await {
        // Without the list, every object is copied again.
        Err(_) if contents.repair => None,
        earlier => earlier.context(
            "the newest backup is damaged; run `tintype backup` with --repair, which does not rely on it",
        )?,
    };
    (contents.say)("listing the images in the backup location".into());
    let copies = HeldCopies::list(repository).await?;
    // The inputs of live jobs first: a running service keeps them for at most an hour after their job has ended.
    let mut unreadable = UnreadableCopies {
        place: repository.name().to_owned(),
        faults: BTreeSet::new(),
    };
    let (mut first, mut totals) = match contents.running {
        true => {
            let earlier = earlier.as_ref();
            copy_live_objects(contents, objects, &copies, earlier, &mut unreadable).await?
        }
        false => (HashMap::new(), ObjectTotals::default()),
    };
    let mut earlier = earlier.as_ref().map(ObjectList::new).transpose()?;
    let mut references = References::of(contents.records)?;
    // Each object with its entry in the previous backup.
    let referenced = references.by_ref().map(|object| {
        let object = object?;
        let known = previous_entry(&mut earlier, &object)?;
        let known = first.remove(&object.key).or(known);
        anyhow::Ok((object, known))
    });
    let list = tempfile::tempfile_in(repository.temp_dir())?;
    let mut lines = BufWriter::new(list.try_clone()?);
    let mut copied = stream::iter(referenced)
        .map(|object| async {
            let (object, known) = object?;
            copy(contents, objects, &copies, object, known).await
        })
        .buffered(CONCURRENCY);
    while let Some(outcome) = copied.next().await {
        let (listed, outcome) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                unreadable.add(error)?;
                continue;
            }
        };
        totals.add(&listed, outcome);
        match outcome {
            Outcome::Copied | Outcome::Repaired => {
                (contents.say)(format!("{} copied", counted(totals.copied, "image")));
            }
            Outcome::There if contents.repair => {
                (contents.say)(format!("{} checked", counted(totals.count, "image")));
            }
            Outcome::There | Outcome::Omitted | Outcome::Damaged { .. } => {}
        }
        serde_json::to_writer(&mut lines, &listed)?;
        lines.write_all(b"\n")?;
    }
    drop(copied);
    unreadable.finish()?;
    lines.flush()?;
    totals.list = repository.put_file(id, "pictures.jsonl", &list).await?;
    Ok((Some(totals), references.record_count()))
}

/// Copies the objects that live jobs reference. Returns the entries of those that the repository now holds, by key, and the numbers
/// of copies.
async fn copy_live_objects(
    contents: &Contents<'_>,
    objects: &ObjectStorage,
    copies: &HeldCopies<'_>,
    earlier: Option<&File>,
    unreadable: &mut UnreadableCopies,
) -> anyhow::Result<(HashMap<String, ListEntry>, ObjectTotals)> {
    let mut reader = Reader::new(rewind(contents.records)?)?;
    let mut earlier = earlier.map(ObjectList::new).transpose()?;
    let (mut there, mut totals) = (HashMap::new(), ObjectTotals::default());
    while let Some(entry) = reader.read()? {
        if entry.kind != "live_job" {
            continue;
        }
        for object in referenced_objects(&entry)? {
            let known = previous_entry(&mut earlier, &object)?;
            let (listed, outcome) = match copy(contents, objects, copies, object, known).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    unreadable.add(error)?;
                    continue;
                }
            };
            totals.add_copy(outcome);
            if listed.left_out.is_none() {
                there.insert(listed.key.clone(), listed);
            }
        }
    }
    Ok((there, totals))
}

fn previous_entry(
    earlier: &mut Option<ObjectList>,
    object: &ObjectRef,
) -> anyhow::Result<Option<ListEntry>> {
    let found = earlier.as_mut().map(|list| list.find(object));
    Ok(found.transpose()?.flatten())
}

/// What became of one object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The repository held it.
    There,
    Copied,
    /// The repository held a damaged copy, which was replaced.
    Repaired,
    /// The service no longer has it.
    Omitted,
    /// The service has it with another length than recorded.
    Damaged {
        bytes: u64,
        recorded: u64,
    },
}

impl ObjectTotals {
    fn add_copy(&mut self, outcome: Outcome) {
        self.copied += u64::from(matches!(outcome, Outcome::Copied | Outcome::Repaired));
        self.repaired += u64::from(outcome == Outcome::Repaired);
    }

    fn add(&mut self, listed: &ListEntry, outcome: Outcome) {
        self.add_copy(outcome);
        match listed.left_out {
            None => {
                self.count += 1;
                self.bytes += listed.digest.as_ref().map_or(0, |it| it.bytes);
            }
            Some(OmitReason::Expired) => self.expired += 1,
            Some(OmitReason::Missing) => self.missing += 1,
        }
        if let Outcome::Damaged { bytes, recorded } = outcome {
            self.damaged += 1;
            if self.damaged_names.len() < MAX_DAMAGED {
                self.damaged_names.push(format!(
                    "{} has {bytes} bytes, but its record says {recorded}",
                    listed.key
                ));
            }
        }
    }
}

/// The list of objects in the newest backup that has one: a backup without images says nothing about the copies of older ones.
async fn previous_list(repository: &Repository) -> anyhow::Result<Option<File>> {
    for id in repository.ids().await?.iter().rev() {
        if let Some(images) = repository.manifest(Some(id)).await?.images {
            let temp_dir = repository.temp_dir();
            let list = repository.fetch(id, &images.list, &temp_dir);
            return Ok(Some(list.await?));
        }
    }
    Ok(None)
}

/// Copies one object, unless the repository holds it.
async fn copy(
    contents: &Contents<'_>,
    objects: &ObjectStorage,
    copies: &HeldCopies<'_>,
    object: ObjectRef,
    known: Option<ListEntry>,
) -> anyhow::Result<(ListEntry, Outcome)> {
    let mut listed = ListEntry {
        record: object.record,
        key: object.key,
        digest: None,
        left_out: None,
    };
    if is_deleted_image(contents, objects, &listed.key, object.lifetime).await {
        listed.left_out = Some(OmitReason::Expired);
        return Ok((listed, Outcome::Omitted));
    }
    // Under a retention that was shorter then.
    let was_expired = matches!(object.lifetime, Lifetime::Ended(_))
        && known.as_ref().and_then(|it| it.left_out) == Some(OmitReason::Expired);
    let mut outcome = Outcome::Copied;
    if let Some(known) = known
        && let Some(written) = &known.digest
        && object.bytes.is_none_or(|bytes| bytes == written.bytes)
    {
        let is_intact = copies.is_intact(&listed.key, written, contents.repair);
        match is_intact.await? {
            Some(true) => return Ok((known, Outcome::There)),
            Some(false) => outcome = Outcome::Repaired,
            None => {}
        }
    }
    let (bytes, mut chunks) = match objects.sized_chunks(&listed.key).await {
        Ok(opened) => opened,
        Err(ObjectError::NotFound { .. }) => {
            let is_deleted = was_expired
                || may_be_deleted(contents, object.lifetime)
                || was_deleted_since(contents, &listed).await;
            listed.left_out = Some(match is_deleted {
                true => OmitReason::Expired,
                false => OmitReason::Missing,
            });
            return Ok((listed, Outcome::Omitted));
        }
        Err(error) => return Err(error.into()),
    };
    // Otherwise a cut image would replace an intact copy, or seem to be complete.
    if let Some(recorded) = object.bytes.filter(|it| *it != bytes) {
        listed.left_out = Some(OmitReason::Missing);
        return Ok((listed, Outcome::Damaged { bytes, recorded }));
    }
    // A copy that the previous backup does not list. An interrupted backup leaves such copies. After a restore of an older backup, a
    // job may run again and store another image under the same key.
    if outcome == Outcome::Copied
        && let Some(held) = copies.digest(&listed.key).await?
    {
        if digest_chunks(chunks, |_| Ok(())).await? == held {
            listed.digest = Some(held);
            return Ok((listed, Outcome::There));
        }
        let replaceable = copies.check_replaceable(&listed.key, &held, contents.repair);
        replaceable.await?;
        chunks = objects.chunks(&listed.key).await?;
    }
    listed.digest = Some(copies.put(&listed.key, chunks).await?);
    Ok((listed, outcome))
}

/// May the service have deleted an object?
fn may_be_deleted(contents: &Contents<'_>, lifetime: Lifetime) -> bool {
    match lifetime {
        Lifetime::Kept => false,
        Lifetime::Deleted => true,
        Lifetime::Ended(at) => at < (contents.kept_since)(),
        Lifetime::Deletable => contents.running,
    }
}

/// Is the object an image that the service has deleted? Otherwise every later backup would inherit it.
async fn is_deleted_image(
    contents: &Contents<'_>,
    objects: &ObjectStorage,
    key: &str,
    lifetime: Lifetime,
) -> bool {
    match lifetime {
        Lifetime::Deleted => true,
        _ if is_result(key) && may_be_deleted(contents, lifetime) => {
            let found = objects.head(key).await;
            matches!(found, Err(ObjectError::NotFound { .. }))
        }
        _ => false,
    }
}

/// Was the object an image that was deleted on demand after the export, or a text of a job that was erased?
async fn was_deleted_since(contents: &Contents<'_>, listed: &ListEntry) -> bool {
    let record = hex::decode(&listed.record).unwrap_or_default();
    let job = ENDED_JOBS.read_key(&record);
    match job.or_else(|| LIVE_JOBS.read_key(&record)) {
        Some((account, job)) if contents.running => match is_result(&listed.key) {
            true => (contents.is_image_deleted)(account, job).await,
            false => was_erased(contents, account, job).await,
        },
        _ => false,
    }
}

async fn was_erased(contents: &Contents<'_>, account: AccountId, job: JobId) -> bool {
    if (contents.is_erased)(account, job).await {
        return true;
    }
    sleep(ERASURE_DELAY).await;
    (contents.is_erased)(account, job).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::cell::Cell;
    use std::future::ready;
    use uuid::Uuid;

    #[tokio::test(start_paused = true)]
    async fn a_missing_text_of_a_job_that_was_erased_during_the_backup_is_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        let objects = directory.path().join("objects");
        std::fs::create_dir(&objects).unwrap();
        let objects = ObjectStorage::open_directory(&objects).unwrap();
        let place = directory.path().join("backups");
        let repository = Repository::open(place.to_str().unwrap()).unwrap();
        let copies = HeldCopies::list(&repository).await.unwrap();
        let records = tempfile::tempfile().unwrap();
        let key = (AccountId(Uuid::from_u128(1)), JobId(Uuid::from_u128(2)));
        let text = ObjectRef {
            record: hex::encode(ENDED_JOBS.key(&key)),
            key: "words/a.json".into(),
            bytes: None,
            lifetime: Lifetime::Ended(Timestamp::from_millis(3)),
        };
        // The number of questions until the record is erased.
        for (erased_at, expected) in [
            (1, OmitReason::Expired),
            (2, OmitReason::Expired),
            (3, OmitReason::Missing),
        ] {
            let asked = Cell::new(0);
            let contents = Contents {
                data_dir: None,
                objects: Some(&objects),
                kept_since: &|| Timestamp::EPOCH,
                is_image_deleted: &|_, _| ready(false).boxed_local(),
                is_erased: &|account, job| {
                    asked.set(asked.get() + 1);
                    ready(asked.get() >= erased_at && (account, job) == key).boxed_local()
                },
                records: &records,
                taken_at: Timestamp::from_millis(4),
                running: true,
                repair: false,
                say: &|_| {},
            };
            let copied = copy(&contents, &objects, &copies, text.clone(), None);
            let (listed, _) = copied.await.unwrap();
            assert_eq!(listed.left_out, Some(expected));
        }
    }
}
