//! A repository of backups: a directory or a bucket.

use super::manifest::{KEY_FILES, Manifest, Part};
use crate::objects::{FileSigningKey, ObjectDigest, ObjectError, ObjectStorage};
use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use chrono::{DateTime, NaiveDateTime, Utc};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

const CHUNK_BYTES: usize = 1 << 20;
/// The prefix of the files of all backups.
pub const BACKUPS: &str = "backups";
/// The prefix of the objects of all backups.
pub const IMAGES: &str = "pictures";
/// The file of a backup that is written last.
const MANIFEST: &str = "manifest.json";
/// The format of the time in an id.
const ID_TIME: &str = "%Y%m%dT%H%M%S%3fZ";

pub struct Repository {
    pub objects: ObjectStorage,
    name: String,
}

impl Repository {
    /// Opens a repository for writing. Creates a missing directory.
    ///
    /// # Errors
    /// The directory or bucket cannot be used.
    pub fn open(place: &str) -> anyhow::Result<Self> {
        let objects = match place.contains("://") {
            true => {
                // Readers of backups have the bucket's credentials, so no URL is signed.
                let unused = FileSigningKey::from_bytes(&[0; 32]);
                ObjectStorage::open(place, Path::new(""), "", unused)
            }
            false => ObjectStorage::open_directory(Path::new(place)),
        };
        Ok(Self {
            objects: objects.map_err(in_location)?,
            name: place.to_owned(),
        })
    }

    /// Opens an existing repository.
    ///
    /// # Errors
    /// The repository does not exist, or cannot be used.
    pub fn open_existing(place: &str) -> anyhow::Result<Self> {
        if !place.contains("://") && !Path::new(place).is_dir() {
            bail!("there is no directory {place}");
        }
        Self::open(place)
    }

    /// The directory or URL given on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory of a local repository, which also has room for temporary files.
    pub fn directory(&self) -> Option<&Path> {
        self.objects.is_local().then(|| Path::new(&self.name))
    }

    /// The directory for unnamed temporary files.
    pub fn temp_dir(&self) -> PathBuf {
        self.directory()
            .map_or_else(std::env::temp_dir, Path::to_owned)
    }

    /// The ids of all complete backups, oldest first.
    pub async fn ids(&self) -> anyhow::Result<BTreeSet<String>> {
        let unreadable = || format!("the backup location {} cannot be read", self.name);
        let mut objects = self.objects.list(BACKUPS);
        let mut ids = BTreeSet::new();
        while let Some(object) = objects.try_next().await.with_context(unreadable)? {
            if let Some((id, MANIFEST)) = backup_file(object.location.as_ref()) {
                ids.insert(id.to_owned());
            }
        }
        Ok(ids)
    }

    /// Reads the manifest of a backup. `None` selects the newest one.
    ///
    /// # Errors
    /// There is no such backup, or its manifest cannot be read.
    pub async fn manifest(&self, id: Option<&str>) -> anyhow::Result<Manifest> {
        let ids = self.ids().await?;
        let found = match id {
            Some(id) => ids.get(id),
            None => ids.last(),
        };
        let Some(found) = found else {
            match id {
                Some(id) => bail!(
                    "{} holds no complete backup {id}; it holds {}",
                    self.name,
                    list_ids(&ids)
                ),
                None => bail!(
                    "{} holds no complete backup; an interrupted backup has no manifest.json and is not usable",
                    self.name
                ),
            }
        };
        let bytes = self.objects.get(&path(found, MANIFEST)).await?;
        Manifest::read(found, &bytes).with_context(|| format!("the backup {found}"))
    }

    /// Writes a file of a backup, from the beginning of `file`.
    ///
    /// # Errors
    /// `file` cannot be read, or the repository cannot be written.
    pub async fn put_file(&self, id: &str, name: &str, file: &File) -> anyhow::Result<Part> {
        let mut file = rewind(file)?;
        let chunks = futures_util::stream::iter(std::iter::from_fn(move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            match file.read(&mut chunk) {
                Ok(0) => None,
                Ok(read) => {
                    chunk.truncate(read);
                    Some(Ok(Bytes::from(chunk)))
                }
                Err(error) => Some(Err(anyhow::Error::new(error))),
            }
        }));
        let key = path(id, name);
        let written = self
            .objects
            .put_stream(&key, "application/x-ndjson", chunks);
        Ok(Part {
            name: name.to_owned(),
            digest: written.await?,
        })
    }

    /// Copies a file of a backup into an unnamed file in `temp_dir`.
    ///
    /// # Errors
    /// The file does not exist, or its length or checksum differs from `part`.
    pub async fn fetch(&self, id: &str, part: &Part, temp_dir: &Path) -> anyhow::Result<File> {
        let mut file = tempfile::tempfile_in(temp_dir)
            .with_context(|| format!("a temporary file in {}", temp_dir.display()))?;
        let key = path(id, &part.name);
        self.read(&key, &part.digest, |chunk| Ok(file.write_all(chunk)?))
            .await?;
        Ok(file)
    }

    /// Reads an object chunk by chunk, and checks its length and checksum.
    ///
    /// # Errors
    /// The object does not exist, cannot be read or differs, or `each` fails.
    pub async fn read(
        &self,
        key: &str,
        expected: &ObjectDigest,
        each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let found = digest(&self.objects, key, each).await?;
        check_integrity(key, expected, &found)
    }

    /// Removes the files of a backup. Without a manifest the rest is never used.
    pub async fn remove(&self, id: &str) -> Result<(), ObjectError> {
        let objects: Vec<_> = self
            .objects
            .list(&format!("{BACKUPS}/{id}"))
            .try_collect()
            .await?;
        for object in objects {
            let key = object.location.as_ref();
            if backup_file(key).is_some() {
                self.objects.delete(key).await?;
            }
        }
        Ok(())
    }
}

/// Names the location instead of the configuration key, which other callers of the object store set. The value has no credentials.
fn in_location(error: ObjectError) -> anyhow::Error {
    match error {
        ObjectError::Setting { value, reason } => {
            anyhow!("the backup location `{value}`: {reason}; or name a directory")
        }
        ObjectError::MissingVariable {
            value,
            variable,
            reason,
        } => anyhow!(
            "the backup location `{value}` needs the environment variable {variable}: {reason}"
        ),
        other => anyhow::Error::new(other).context("the backup location cannot be used"),
    }
}

/// What the ids of the backups of a time begin with.
pub fn id_at(time: DateTime<Utc>) -> String {
    time.format(ID_TIME).to_string()
}

/// The id of a backup at a time.
pub fn new_id(time: DateTime<Utc>) -> String {
    format!("{}-{:08x}", id_at(time), rand::random::<u32>())
}

/// Is it an id that [`new_id`] creates?
pub fn is_id(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    text.split_once('-').is_some_and(|(time, number)| {
        NaiveDateTime::parse_from_str(time, ID_TIME).is_ok_and(|it| id_at(it.and_utc()) == time)
            && number.len() == 8
            && number.bytes().all(is_hex)
    })
}

/// The id and the name of a file of a backup. `None` for files that `backup` does not write: the location may hold other files.
pub fn backup_file(key: &str) -> Option<(&str, &str)> {
    let (id, name) = key
        .strip_prefix(BACKUPS)?
        .strip_prefix('/')?
        .split_once('/')?;
    let is_file = [MANIFEST, "records.jsonl", "pictures.jsonl"].contains(&name);
    let is_key_file = || {
        name.strip_prefix("keys/")
            .is_some_and(|it| KEY_FILES.contains(&it))
    };
    (is_id(id) && (is_file || is_key_file())).then_some((id, name))
}

/// The key of a file of a backup.
pub fn path(id: &str, name: &str) -> String {
    format!("{BACKUPS}/{id}/{name}")
}

/// The key of an object of the service.
pub fn image_path(key: &str) -> String {
    format!("{IMAGES}/{key}")
}

/// All readers share the position in the file, so only one may exist at a time.
pub fn rewind(file: &File) -> io::Result<BufReader<File>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(file))
}

/// Reads an object chunk by chunk.
///
/// # Errors
/// The object does not exist or cannot be read, or `each` fails.
pub async fn digest(
    objects: &ObjectStorage,
    key: &str,
    each: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<ObjectDigest> {
    digest_chunks(objects.chunks(key).await?, each).await
}

/// Reads an opened object chunk by chunk.
///
/// # Errors
/// The object cannot be read, or `each` fails.
pub async fn digest_chunks(
    mut chunks: BoxStream<'_, Result<Bytes, ObjectError>>,
    mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<ObjectDigest> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    while let Some(chunk) = chunks.try_next().await? {
        digest.update(&chunk);
        bytes += chunk.len() as u64;
        each(&chunk)?;
    }
    let sha256 = hex::encode(digest.finalize());
    Ok(ObjectDigest { bytes, sha256 })
}

/// # Errors
/// The length or the checksum differs.
pub fn check_integrity(
    key: &str,
    expected: &ObjectDigest,
    found: &ObjectDigest,
) -> anyhow::Result<()> {
    if found.bytes != expected.bytes {
        bail!(
            "{key} has {} bytes, but was written with {}",
            found.bytes,
            expected.bytes
        );
    }
    if found.sha256 != expected.sha256 {
        bail!("{key} has changed since it was written: its checksum differs");
    }
    Ok(())
}

fn list_ids(ids: &BTreeSet<String>) -> String {
    match ids.is_empty() {
        true => "none".to_owned(),
        false => ids.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_a_backup_writes_belong_to_it() {
        assert!(is_id(&new_id(Utc::now())));
        let id = "20261127T020559504Z-0372529a".to_owned();
        for name in [
            "manifest.json",
            "records.jsonl",
            "pictures.jsonl",
            "keys/secrets-key",
        ] {
            assert_eq!(backup_file(&path(&id, name)), Some((&*id, name)));
        }
        let others = [
            path(&id, "notes.txt"),
            path(&id, "keys/id_rsa"),
            path("tintype", "manifest.json"),
            path(&id.to_uppercase(), "manifest.json"),
            path(&format!("{id}-old"), "manifest.json"),
            path(&format!("tintype/backups/{id}"), "manifest.json"),
            format!("backups-old/{id}/manifest.json"),
        ];
        for key in others {
            assert_eq!(backup_file(&key), None, "{key}");
        }
    }
}
