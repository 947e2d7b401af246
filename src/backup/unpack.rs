//! Takes a backup apart: everything of it is read and compared with its checksums, the records are taken into a store and
//! audited there, and the objects are put where they belong. A check of a backup is the same with a store that passes.

use super::keys;
use super::listing::{LeftOut, List, Listed, named};
use super::manifest::{Manifest, Part};
use super::repository::{self, Depot, picture_path};
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

/// What a backup held.
pub struct Unpacked {
    /// The records.
    pub loaded: Loaded,
    /// What the audit of the books has found.
    pub report: Report,
    /// Objects, and their bytes.
    pub pictures: u64,
    /// Objects that were not there when the backup was made, though they should have been.
    pub missing: Vec<String>,
}

/// Reads all of a backup.
///
/// `engine` is empty; `passing` is a directory for files without names; `images` is where objects are put, if anywhere.
///
/// # Errors
/// Something of it is missing or damaged, or cannot be written.
pub async fn unpack(
    depot: &Depot,
    manifest: &Manifest,
    engine: Arc<dyn Engine>,
    passing: &Path,
    images: Option<&Images>,
    say: &dyn Fn(String),
) -> anyhow::Result<Unpacked> {
    say("reading the records".into());
    let records = fetched(depot, manifest, &manifest.records, passing).await?;
    let list = match &manifest.pictures {
        Some(pictures) => Some(fetched(depot, manifest, &pictures.list, passing).await?),
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
        keys::read(depot, &manifest.id, part).await?;
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
                    picture(depot, &listed, images).await?;
                    pictures += 1;
                    say(format!("{pictures} pictures"));
                }
            }
        }
    }
    Ok(Unpacked {
        loaded,
        report,
        pictures,
        missing,
    })
}

async fn fetched(
    depot: &Depot,
    manifest: &Manifest,
    part: &Part,
    passing: &Path,
) -> anyhow::Result<File> {
    let mut file = tempfile::tempfile_in(passing)
        .with_context(|| format!("a passing file in {}", passing.display()))?;
    depot
        .fetch(&manifest.id, &part.name, &part.written(), &mut file)
        .await?;
    Ok(file)
}

/// Reads an object, and puts it where it belongs.
async fn picture(depot: &Depot, listed: &Listed, images: Option<&Images>) -> anyhow::Result<()> {
    let from = picture_path(&listed.key);
    let expected = listed
        .written()
        .with_context(|| format!("the list of pictures says nothing of {}", listed.key))?;
    let Some(images) = images else {
        let found = repository::read(&depot.images, &from, |_| Ok(())).await?;
        return repository::same(&from, &expected, &found);
    };
    // A bucket that was not lost with the data directory has it still.
    let there = images.head(&listed.key).await;
    if there.is_ok_and(|there| there.size == expected.bytes) {
        return Ok(());
    }
    let chunks = depot.images.chunks(&from).await?;
    let kind = media_type(&listed.key);
    let found = images
        .put_stream(&listed.key, kind, chunks.map_err(anyhow::Error::new))
        .await?;
    repository::same(&from, &expected, &found)
}
