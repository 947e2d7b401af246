//! The repository of backups: a directory or a bucket.

use super::manifest::Manifest;
use crate::images::{FileSigningKey, Images, ImagesError, Written};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Bytes of a file that are read at a time.
const STEP_BYTES: usize = 1 << 20;

/// An open repository.
pub struct Repository {
    /// Its objects.
    pub images: Images,
    name: String,
}

impl Repository {
    /// Opens a repository for writing. A directory is created if it is missing.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn open(place: &str) -> anyhow::Result<Self> {
        let images = match place.contains("://") {
            true => {
                // Nothing is signed there: whoever reads backups has the credentials.
                let unused = FileSigningKey::from_bytes(&[0; 32]);
                Images::open(place, Path::new(""), "", unused)
            }
            false => Images::open_directory(Path::new(place)),
        };
        Ok(Self {
            images: images.with_context(|| format!("the place for backups, {place}"))?,
            name: place.to_owned(),
        })
    }

    /// Opens an existing repository.
    ///
    /// # Errors
    /// It cannot be used, or is not there.
    pub fn open_existing(place: &str) -> anyhow::Result<Self> {
        if !place.contains("://") && !Path::new(place).is_dir() {
            bail!("there is no directory {place}");
        }
        Self::open(place)
    }

    /// Its name on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its directory, if it is local: temporary files fit there.
    pub fn directory(&self) -> Option<&Path> {
        self.images.is_local().then(|| Path::new(&self.name))
    }

    /// The ids of all backups that are complete, oldest first.
    ///
    /// # Errors
    /// The repository does not answer.
    pub async fn ids(&self) -> Result<BTreeSet<String>, ImagesError> {
        let mut objects = self.images.list("backups");
        let mut ids = BTreeSet::new();
        while let Some(object) = objects.try_next().await? {
            let parts: Vec<_> = object.location.parts().collect();
            if let [_, id, name] = &parts[..]
                && name.as_ref() == "manifest.json"
            {
                ids.insert(id.as_ref().to_owned());
            }
        }
        Ok(ids)
    }

    /// The manifest of a backup: of this one, or of the newest.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
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
                    listed(&ids)
                ),
                None => bail!(
                    "{} holds no complete backup; one that was cut off has no manifest.json, and counts for nothing",
                    self.name
                ),
            }
        };
        let bytes = self.images.get(&path(found, "manifest.json")).await?;
        Manifest::read(found, &bytes).with_context(|| format!("the backup {found}"))
    }

    /// Writes a file of a backup from its beginning.
    ///
    /// # Errors
    /// It cannot be read, or not be written.
    pub async fn put_file(&self, id: &str, name: &str, file: &File) -> anyhow::Result<Written> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let chunks = futures_util::stream::iter(std::iter::from_fn(move || {
            let mut chunk = vec![0; STEP_BYTES];
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
        self.images
            .put_stream(&key, "application/x-ndjson", chunks)
            .await
    }

    /// Reads a file of a backup into `to`, and sets that to its beginning.
    ///
    /// # Errors
    /// It is not there, or has another length or checksum than `part` says.
    pub async fn fetch(
        &self,
        id: &str,
        name: &str,
        part: &Written,
        to: &mut File,
    ) -> anyhow::Result<()> {
        let key = path(id, name);
        let found = read(&self.images, &key, |chunk| Ok(to.write_all(chunk)?)).await?;
        same(&key, part, &found)?;
        to.seek(SeekFrom::Start(0))?;
        Ok(())
    }

    /// Removes what was written of a backup that is given up. What cannot be removed counts for nothing without its manifest.
    pub async fn forget(&self, id: &str) {
        let objects: Vec<_> = self.images.list(&format!("backups/{id}")).collect().await;
        for object in objects.into_iter().flatten() {
            let _ = self.images.delete(object.location.as_ref()).await;
        }
    }
}

/// The key of a file of a backup.
pub fn path(id: &str, name: &str) -> String {
    format!("backups/{id}/{name}")
}

/// Where an object of the service is kept.
pub fn picture_path(key: &str) -> String {
    format!("pictures/{key}")
}

/// Reads an object piece by piece, and says what it was.
///
/// # Errors
/// It is not there, or cannot be read; and what `each` fails with.
pub async fn read(
    images: &Images,
    key: &str,
    mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Written> {
    let mut chunks = images.chunks(key).await?;
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    while let Some(chunk) = chunks.try_next().await? {
        digest.update(&chunk);
        bytes += chunk.len() as u64;
        each(&chunk)?;
    }
    Ok(Written {
        bytes,
        sha256: hex::encode(digest.finalize()),
    })
}

/// Refuses what is not as it was written.
///
/// # Errors
/// Another length, or another checksum.
pub fn same(key: &str, expected: &Written, found: &Written) -> anyhow::Result<()> {
    if found.bytes != expected.bytes {
        bail!(
            "{key} has {} bytes, but was written with {}",
            found.bytes,
            expected.bytes
        );
    }
    if found.sha256 != expected.sha256 {
        bail!("{key} is not as it was written: its checksum is another one");
    }
    Ok(())
}

fn listed(ids: &BTreeSet<String>) -> String {
    match ids.is_empty() {
        true => "none".to_owned(),
        false => ids.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}
