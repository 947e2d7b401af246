//! Creates a backup from records that were read as of one moment.

use super::keys;
use super::listing::{Favourites, LeftOut, List, Listed, Named, named};
use super::manifest::{Manifest, Part, Pictures};
use super::repository::{Repository, path, picture_path};
use crate::images::{Images, ImagesError, media_type};
use anyhow::Context as _;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::export::Reader;

/// Objects that are copied concurrently.
pub(super) const AT_A_TIME: usize = 4;

/// What a backup is created from.
pub struct Contents<'a> {
    /// Directory of the key files; `None` leaves them out.
    pub data_dir: Option<&'a Path>,
    /// The service's objects; `None` leaves them out.
    pub images: Option<&'a Images>,
    /// Results of jobs that ended before this may have been removed.
    pub kept_since: Timestamp,
    /// A complete export.
    pub records: &'a File,
    /// The moment that it shows.
    pub taken_at: Timestamp,
    /// Was the service running?
    pub running: bool,
    /// Receives the progress.
    pub say: &'a dyn Fn(String),
}

/// Writes a backup, which is complete and durable when this returns. A failure leaves no manifest, so no backup.
///
/// # Errors
/// Something cannot be read or written.
pub async fn create(contents: &Contents<'_>, repository: &Repository) -> anyhow::Result<Manifest> {
    let id = format!(
        "{}-{:08x}",
        contents.taken_at.to_datetime().format("%Y%m%dT%H%M%S%3fZ"),
        rand::random::<u32>()
    );
    let outcome = write(contents, repository, &id).await;
    if outcome.is_err() {
        repository.forget(&id).await;
    }
    outcome.context("the backup was given up, and counts for nothing")
}

async fn write(
    contents: &Contents<'_>,
    repository: &Repository,
    id: &str,
) -> anyhow::Result<Manifest> {
    let (pictures, record_count) = pictures(contents, repository, id).await?;
    (contents.say)("writing the records".into());
    let written = repository
        .put_file(id, "records.jsonl", contents.records)
        .await?;
    let records = Part::new("records.jsonl", written);
    let taken_at = contents.taken_at.to_string();
    let mut manifest = Manifest::new(id.to_owned(), taken_at, records, record_count);
    manifest.running = contents.running;
    manifest.pictures = pictures;
    if let Some(data_dir) = contents.data_dir {
        manifest.keys = Some(keys::copy_in(data_dir, repository, id).await?);
    }
    let text = serde_json::to_vec_pretty(&manifest)?;
    let key = path(id, "manifest.json");
    repository
        .images
        .put(&key, Bytes::from(text), "application/json")
        .await?;
    Ok(manifest)
}

/// Copies the objects that the records name, and writes the list of them. Says how many records there are.
async fn pictures(
    contents: &Contents<'_>,
    repository: &Repository,
    id: &str,
) -> anyhow::Result<(Option<Pictures>, u64)> {
    let Some(images) = contents.images else {
        let mut reader = Reader::new(from_the_beginning(contents.records)?)?;
        while reader.read()?.is_some() {}
        return Ok((None, reader.summary().map_or(0, |it| it.records)));
    };
    let earlier = earlier(repository).await?;
    // What only live jobs need goes first: a service that goes on keeps it for no longer than an hour.
    let (mut first, copied) = match contents.running {
        true => of_live_jobs(contents, images, repository, earlier.as_ref()).await?,
        false => (HashMap::new(), 0),
    };
    let mut reader = Reader::new(from_the_beginning(contents.records)?)?;
    let mut earlier = earlier.as_ref().map(list_of).transpose()?;
    let mut favourites = Favourites::default();
    let mut waiting: VecDeque<(Named, Option<Listed>)> = VecDeque::new();
    // Each object with what the backup before says of it, in the order of the records.
    let mut next = || -> anyhow::Result<Option<(Named, Option<Listed>)>> {
        while waiting.is_empty() {
            let Some(entry) = reader.read()? else {
                return Ok(None);
            };
            for object in favourites.named(&entry)? {
                let known = known(&mut earlier, &object)?;
                let known = first.remove(&object.key).or(known);
                waiting.push_back((object, known));
            }
        }
        Ok(waiting.pop_front())
    };
    let mut list = tempfile::tempfile_in(temp_dir(repository))?;
    let mut lines = BufWriter::new(list.try_clone()?);
    let mut totals = Totals {
        copied,
        ..Totals::default()
    };
    let mut copies = stream::iter(std::iter::from_fn(|| next().transpose()))
        .map(|object| async {
            let (object, known) = object?;
            copy(images, repository, contents.kept_since, object, known).await
        })
        .buffered(AT_A_TIME);
    while let Some((listed, copied)) = copies.try_next().await? {
        totals.add(&listed, copied);
        if copied {
            (contents.say)(format!("{} pictures copied", totals.copied));
        }
        serde_json::to_writer(&mut lines, &listed)?;
        lines.write_all(b"\n")?;
    }
    drop(copies);
    lines.flush()?;
    list.seek(SeekFrom::Start(0))?;
    let written = repository.put_file(id, "pictures.jsonl", &list).await?;
    let records = reader.summary().map_or(0, |it| it.records);
    let pictures = Pictures {
        list: Part::new("pictures.jsonl", written),
        count: totals.count,
        bytes: totals.bytes,
        copied: totals.copied,
        expired: totals.expired,
        missing: totals.missing,
    };
    Ok((Some(pictures), records))
}

/// Readers share the place in the file: there is one at a time.
pub(super) fn from_the_beginning(file: &File) -> io::Result<BufReader<File>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(file))
}

fn list_of(earlier: &File) -> io::Result<List> {
    Ok(List::new(from_the_beginning(earlier)?))
}

/// Copies the objects that live jobs name. Returns what is there by now, by its key, and how many were copied.
async fn of_live_jobs(
    contents: &Contents<'_>,
    images: &Images,
    repository: &Repository,
    earlier: Option<&File>,
) -> anyhow::Result<(HashMap<String, Listed>, u64)> {
    let mut reader = Reader::new(from_the_beginning(contents.records)?)?;
    let mut earlier = earlier.map(list_of).transpose()?;
    let (mut there, mut count) = (HashMap::new(), 0);
    while let Some(entry) = reader.read()? {
        if entry.kind != "live_job" {
            continue;
        }
        for object in named(&entry)? {
            let known = known(&mut earlier, &object)?;
            let (listed, copied) =
                copy(images, repository, contents.kept_since, object, known).await?;
            count += u64::from(copied);
            if listed.left_out.is_none() {
                there.insert(listed.key.clone(), listed);
            }
        }
    }
    Ok((there, count))
}

/// What the backup before says of an object.
fn known(earlier: &mut Option<List>, object: &Named) -> anyhow::Result<Option<Listed>> {
    let found = earlier.as_mut().map(|list| list.find(object));
    Ok(found.transpose()?.flatten())
}

#[derive(Default)]
struct Totals {
    count: u64,
    bytes: u64,
    copied: u64,
    expired: u64,
    missing: u64,
}

impl Totals {
    fn add(&mut self, listed: &Listed, copied: bool) {
        self.copied += u64::from(copied);
        match listed.left_out {
            None => {
                self.count += 1;
                self.bytes += listed.bytes.unwrap_or(0);
            }
            Some(LeftOut::Expired) => self.expired += 1,
            Some(LeftOut::Missing) => self.missing += 1,
        }
    }
}

/// The list of the newest backup that is there, if it has one.
async fn earlier(repository: &Repository) -> anyhow::Result<Option<File>> {
    if repository.ids().await?.is_empty() {
        return Ok(None);
    }
    let newest = repository.manifest(None).await?;
    let Some(pictures) = newest.pictures else {
        return Ok(None);
    };
    let mut file = tempfile::tempfile_in(temp_dir(repository))?;
    let part = &pictures.list;
    repository
        .fetch(&newest.id, &part.name, &part.written(), &mut file)
        .await?;
    Ok(Some(file))
}

/// Directory of unnamed temporary files.
fn temp_dir(repository: &Repository) -> PathBuf {
    repository
        .directory()
        .map_or_else(std::env::temp_dir, Path::to_owned)
}

/// Copies one object, unless it is there already. Says whether it was copied.
async fn copy(
    images: &Images,
    repository: &Repository,
    kept_since: Timestamp,
    object: Named,
    known: Option<Listed>,
) -> anyhow::Result<(Listed, bool)> {
    let to = picture_path(&object.key);
    if let Some(known) = known
        && let Some(written) = known.written()
        && repository
            .images
            .head(&to)
            .await
            .is_ok_and(|it| it.size == written.bytes)
    {
        return Ok((known, false));
    }
    let mut listed = Listed {
        record: object.record,
        key: object.key,
        bytes: None,
        sha256: None,
        left_out: None,
    };
    let chunks = match images.chunks(&listed.key).await {
        Ok(chunks) => chunks.map_err(anyhow::Error::new),
        Err(ImagesError::NotFound { .. }) => {
            let expired = object.ended.is_some_and(|at| at < kept_since);
            listed.left_out = Some(match expired {
                true => LeftOut::Expired,
                false => LeftOut::Missing,
            });
            return Ok((listed, false));
        }
        Err(error) => return Err(error.into()),
    };
    let kind = media_type(&listed.key);
    let written = repository.images.put_stream(&to, kind, chunks).await?;
    listed.bytes = Some(written.bytes);
    listed.sha256 = Some(written.sha256);
    Ok((listed, true))
}
