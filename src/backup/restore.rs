//! Restores a backup: checks all files against their checksums, loads the records into a store, verifies the records and writes
//! the objects. A check of a backup does the same with a temporary store, without writing objects.

use super::keys;
use super::manifest::Manifest;
use super::object_list::{ListEntry, ObjectList, ObjectRef, OmitReason, referenced_objects};
use super::repository::{Repository, check_integrity, digest, image_path, rewind};
use crate::objects::{ObjectStorage, media_type};
use anyhow::{Context as _, ensure};
use futures_util::TryStreamExt as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::engine::Engine;
use tintype_storage::export::{LoadOutcome, load};
use tintype_storage::store::Store;
use tintype_storage::verify::{Report, verify};

/// Further damaged objects are only counted.
const MAX_DAMAGED: usize = 100;
const SKIP_ADVICE: &str = "an image in the backup is damaged; use another backup, or add --even-with-faults to restore without the damaged images";

/// The result of a restore.
pub struct RestoreOutcome {
    /// The records.
    pub loaded: LoadOutcome,
    /// The result of verifying the records.
    pub report: Report,
    /// Objects restored, or checked.
    pub images: u64,
    /// Keys of objects that were already missing or damaged when the backup was created.
    pub missing: Vec<String>,
    /// Objects whose length in the backup differs from that in their record.
    pub wrong_lengths: Vec<String>,
    /// Damaged objects, which are not restored, and damaged key files.
    pub damaged: DamagedParts,
}

/// Damaged parts of a backup.
#[derive(Default)]
pub struct DamagedParts {
    /// The key and the fault of each damaged object, at most [`MAX_DAMAGED`].
    pub objects: Vec<(String, String)>,
    /// The number of further damaged objects.
    pub omitted: u64,
    pub key_files: Vec<String>,
}

impl DamagedParts {
    fn add_object(&mut self, key: String, error: &anyhow::Error) {
        match self.objects.len() < MAX_DAMAGED {
            true => self.objects.push((key, format!("{error:#}"))),
            false => self.omitted += 1,
        }
    }
}

/// Where the parts of a backup go, and what happens to damaged ones.
pub struct RestoreTarget<'a> {
    /// Takes the records; empty.
    pub engine: Arc<dyn Engine>,
    /// Takes unnamed temporary files.
    pub temp_dir: &'a Path,
    /// `None`: objects and key files are only checked, and damaged ones collected.
    pub objects: Option<&'a ObjectStorage>,
    /// Leaves out damaged objects and collects them.
    pub skips_damaged: bool,
}

/// Restores or checks a backup.
///
/// # Errors
/// A part of the backup is missing or damaged, or cannot be written.
pub async fn restore(
    repository: &Repository,
    manifest: &Manifest,
    target: RestoreTarget<'_>,
    say: &dyn Fn(String),
) -> anyhow::Result<RestoreOutcome> {
    let temp_dir = target.temp_dir;
    say("reading the records".into());
    let records = repository
        .fetch(&manifest.id, &manifest.records, temp_dir)
        .await?;
    let list = match &manifest.images {
        Some(images) => Some(
            repository
                .fetch(&manifest.id, &images.list, temp_dir)
                .await?,
        ),
        None => None,
    };
    let (loaded, wrong_lengths) = load_records(manifest, &records, list.as_ref(), &*target.engine)?;
    say("verifying the records".into());
    let report = verify(&Store::new(Arc::clone(&target.engine)), |_| {})?;
    let is_check = target.objects.is_none();
    let mut damaged = DamagedParts::default();
    for part in manifest.keys.iter().flatten() {
        match keys::read(repository, &manifest.id, part).await {
            Err(error) if is_check => damaged.key_files.push(format!("{error:#}")),
            read => drop(read?),
        }
    }
    let (images, missing) = match list {
        Some(list) => restore_objects(repository, &list, &target, &mut damaged, say).await?,
        None => (0, Vec::new()),
    };
    Ok(RestoreOutcome {
        loaded,
        report,
        images,
        missing,
        wrong_lengths,
        damaged,
    })
}

/// Restores or checks the objects of a list. Returns how many, and the keys of those that the backup lacks.
async fn restore_objects(
    repository: &Repository,
    list: &File,
    target: &RestoreTarget<'_>,
    damaged: &mut DamagedParts,
    say: &dyn Fn(String),
) -> anyhow::Result<(u64, Vec<String>)> {
    let (mut count, mut missing) = (0, Vec::new());
    let mut list = ObjectList::new(list)?;
    while let Some(listed) = list.read()? {
        match listed.left_out {
            Some(OmitReason::Expired) => continue,
            Some(OmitReason::Missing) => {
                missing.push(listed.key);
                continue;
            }
            None => {}
        }
        match restore_object(repository, &listed, target.objects).await {
            Ok(()) => {}
            Err(error) if target.objects.is_none() => damaged.add_object(listed.key, &error),
            Err(error) => {
                // The target may have failed instead.
                if restore_object(repository, &listed, None).await.is_ok() {
                    return Err(error);
                }
                if !target.skips_damaged {
                    return Err(error.context(SKIP_ADVICE));
                }
                remove_partial(target.objects, &listed.key).await?;
                damaged.add_object(listed.key, &error);
                continue;
            }
        }
        count += 1;
        say(counted(count, "image"));
    }
    Ok((count, missing))
}

/// Loads the records into `engine`. Checks that `list` contains each object that they reference, and returns a sentence for each object
/// of another length than recorded.
fn load_records(
    manifest: &Manifest,
    records: &File,
    list: Option<&File>,
    engine: &dyn Engine,
) -> anyhow::Result<(LoadOutcome, Vec<String>)> {
    let mut expected = list.map(ObjectList::new).transpose()?;
    let (mut unlisted, mut wrong_lengths) = (None, Vec::new());
    let loaded = load(engine, rewind(records)?, |entry| {
        let Some(list) = &mut expected else { return };
        let outcome = referenced_objects(entry)
            .map_err(anyhow::Error::new)
            .and_then(|objects| {
                objects.iter().try_for_each(|object| {
                    let listed = list.expect(object)?;
                    wrong_lengths.extend(wrong_length(object, &listed));
                    Ok(())
                })
            });
        if let Err(error) = outcome {
            unlisted.get_or_insert(error);
        }
    })
    .with_context(|| format!("the records of the backup {}", manifest.id))?;
    if let Some(error) = unlisted {
        return Err(error);
    }
    ensure!(
        loaded.summary.records == manifest.record_count,
        "the backup {} holds {} records, but its manifest says {}",
        manifest.id,
        loaded.summary.records,
        manifest.record_count
    );
    Ok((loaded, wrong_lengths))
}

fn wrong_length(object: &ObjectRef, listed: &ListEntry) -> Option<String> {
    let (recorded, found) = (object.bytes?, listed.digest.as_ref()?.bytes);
    (found != recorded).then(|| {
        format!(
            "{} has {found} bytes in the backup, but its record says {recorded}",
            object.key
        )
    })
}

/// Removes what a failed restore of an object may have written.
async fn remove_partial(objects: Option<&ObjectStorage>, key: &str) -> anyhow::Result<()> {
    if let Some(objects) = objects {
        objects.delete(key).await?;
    }
    Ok(())
}

/// Restores an object into `objects`, or else only checks it.
async fn restore_object(
    repository: &Repository,
    listed: &ListEntry,
    objects: Option<&ObjectStorage>,
) -> anyhow::Result<()> {
    let from = image_path(&listed.key);
    let expected = listed
        .digest
        .as_ref()
        .with_context(|| format!("the list of images has no checksum of {}", listed.key))?;
    let Some(objects) = objects else {
        return repository.read(&from, expected, |_| Ok(())).await;
    };
    // A bucket may still hold the object, if only the data directory was lost. It is read, because it may be damaged.
    let there = objects.head(&listed.key).await;
    if there.is_ok_and(|there| there.size == expected.bytes) {
        let found = digest(objects, &listed.key, |_| Ok(())).await;
        if found.is_ok_and(|found| check_integrity(&listed.key, expected, &found).is_ok()) {
            return Ok(());
        }
    }
    let chunks = repository.objects.chunks(&from).await?;
    let kind = media_type(&listed.key);
    let found = objects
        .put_stream(&listed.key, kind, chunks.map_err(anyhow::Error::new))
        .await?;
    check_integrity(&from, expected, &found)
}
