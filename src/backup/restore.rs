//! Restores a backup: reads all of it, compares it with its checksums, loads the records into a store, verifies them there, and
//! writes the objects. A check of a backup does the same with a temporary store and writes no objects.

use super::keys;
use super::listing::{LeftOut, List, Listed, named};
use super::manifest::{Manifest, Part};
use super::repository::{self, Repository, picture_path};
use crate::images::{Images, media_type};
use anyhow::{Context as _, bail};
use futures_util::TryStreamExt as _;
use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use tintype_storage::engine::Engine;
use tintype_storage::export::{Loaded, load};
use tintype_storage::store::Store;
use tintype_storage::verify::{Report, verify};

/// What was restored.
pub struct Restored {
    /// The records.
    pub loaded: Loaded,
    /// The result of verifying the records.
    pub report: Report,
    /// Objects, and their bytes.
    pub pictures: u64,
    /// Objects that were not there when the backup was made, though they should have been.
    pub missing: Vec<String>,
}

/// Restores a backup.
///
/// `engine` is empty; `temp_dir` is a directory for unnamed files; `images` is where objects are written, if anywhere.
///
/// # Errors
/// Something of it is missing or damaged, or cannot be written.
pub async fn restore(
    repository: &Repository,
    manifest: &Manifest,
    engine: Arc<dyn Engine>,
    temp_dir: &Path,
    images: Option<&Images>,
    say: &dyn Fn(String),
) -> anyhow::Result<Restored> {
    say("reading the records".into());
    let records = fetched(repository, manifest, &manifest.records, temp_dir).await?;
    let list = match &manifest.pictures {
        Some(pictures) => Some(fetched(repository, manifest, &pictures.list, temp_dir).await?),
        None => None,
    };
    let mut expected = list
        .as_ref()
        .map(File::try_clone)
        .transpose()?
        .map(|file| List::new(BufReader::new(file)));
    let mut unlisted = None;
    let loaded = load(&*engine, BufReader::new(records), |entry| {
        let Some(list) = &mut expected else { return };
        let outcome = named(entry)
            .map_err(anyhow::Error::new)
            .and_then(|objects| objects.iter().try_for_each(|it| list.expect(it)));
        if let Err(error) = outcome {
            unlisted.get_or_insert(error);
        }
    })
    .with_context(|| format!("the records of the backup {}", manifest.id))?;
    if let Some(error) = unlisted {
        return Err(error);
    }
    if loaded.summary.records != manifest.record_count {
        bail!(
            "the backup {} holds {} records, its manifest says {}",
            manifest.id,
            loaded.summary.records,
            manifest.record_count
        );
    }
    say("auditing the books".into());
    let report = verify(&Store::new(engine), |_| {})?;
    for part in manifest.keys.iter().flatten() {
        keys::read(repository, &manifest.id, part).await?;
    }
    let (mut pictures, mut missing) = (0, Vec::new());
    if let Some(mut file) = list {
        file.seek(SeekFrom::Start(0))?;
        let mut list = List::new(BufReader::new(file));
        while let Some(listed) = list.read()? {
            match listed.left_out {
                Some(LeftOut::Expired) => {}
                Some(LeftOut::Missing) => missing.push(listed.key),
                None => {
                    picture(repository, &listed, images).await?;
                    pictures += 1;
                    say(format!("{pictures} pictures"));
                }
            }
        }
    }
    Ok(Restored {
        loaded,
        report,
        pictures,
        missing,
    })
}

async fn fetched(
    repository: &Repository,
    manifest: &Manifest,
    part: &Part,
    temp_dir: &Path,
) -> anyhow::Result<File> {
    let mut file = tempfile::tempfile_in(temp_dir)
        .with_context(|| format!("a passing file in {}", temp_dir.display()))?;
    repository
        .fetch(&manifest.id, &part.name, &part.written(), &mut file)
        .await?;
    Ok(file)
}

/// Reads an object, and puts it where it belongs.
async fn picture(
    repository: &Repository,
    listed: &Listed,
    images: Option<&Images>,
) -> anyhow::Result<()> {
    let from = picture_path(&listed.key);
    let expected = listed
        .written()
        .with_context(|| format!("the list of pictures says nothing of {}", listed.key))?;
    let Some(images) = images else {
        let found = repository::read(&repository.images, &from, |_| Ok(())).await?;
        return repository::same(&from, &expected, &found);
    };
    // A bucket that was not lost with the data directory has it still.
    let there = images.head(&listed.key).await;
    if there.is_ok_and(|there| there.size == expected.bytes) {
        return Ok(());
    }
    let chunks = repository.images.chunks(&from).await?;
    let kind = media_type(&listed.key);
    let found = images
        .put_stream(&listed.key, kind, chunks.map_err(anyhow::Error::new))
        .await?;
    repository::same(&from, &expected, &found)
}
