//! The copies of objects that a repository holds, and the backups that need them.

use super::affected_backups::object_list;
use super::repository::{IMAGES, Repository, digest, image_path};
use crate::objects::{ObjectDigest, ObjectError, media_type};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::OnceCell;

/// The index during one run. It holds fingerprints, because the texts of a million keys would need several times the memory.
pub struct HeldCopies<'a> {
    pub repository: &'a Repository,
    /// The length of each copy, by the fingerprint of its key in the repository.
    sizes: RefCell<HashMap<Fingerprint, u64>>,
    /// The newest backup that needs an object with a content. Most runs do not need to know it.
    needed_by: OnceCell<HashMap<Fingerprint, Rc<str>>>,
}

type Fingerprint = [u8; 16];

/// The location holds a copy that cannot be read. Its others may be readable.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnreadableCopy(String);

impl<'a> HeldCopies<'a> {
    /// Lists the copies. One call returns up to 1,000 of them, while a question about each would be a call.
    pub async fn list(repository: &'a Repository) -> anyhow::Result<Self> {
        let mut sizes = HashMap::new();
        let mut objects = repository.objects.list(IMAGES);
        while let Some(object) = objects.try_next().await.with_context(|| {
            let name = repository.name();
            format!("the backup location {name} cannot be read")
        })? {
            sizes.insert(fingerprint(&[object.location.as_ref()]), object.size);
        }
        Ok(Self {
            repository,
            sizes: RefCell::new(sizes),
            needed_by: OnceCell::new(),
        })
    }

    fn size(&self, key: &str) -> Option<u64> {
        let sizes = self.sizes.borrow();
        sizes.get(&fingerprint(&[&image_path(key)])).copied()
    }

    /// Reads the copy of an object. `None` if there is none.
    ///
    /// # Errors
    /// [`UnreadableCopy`], or the location cannot be reached.
    pub async fn digest(&self, key: &str) -> anyhow::Result<Option<ObjectDigest>> {
        if self.size(key).is_none() {
            return Ok(None);
        }
        let held = digest(&self.repository.objects, &image_path(key), |_| Ok(())).await;
        match held {
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) if self.concerns_one_copy(&error) => {
                Err(UnreadableCopy(format!("{error:#}")).into())
            }
            held => held.map(Some),
        }
    }

    fn concerns_one_copy(&self, error: &anyhow::Error) -> bool {
        let is_directory = self.repository.directory().is_some();
        let error = error.downcast_ref::<ObjectError>();
        is_directory || error.is_none_or(ObjectError::was_answered)
    }

    /// Is the copy of an object as it was written? Compares the length, and with `reads_it` also the checksum. `None` if there is none.
    pub async fn is_intact(
        &self,
        key: &str,
        written: &ObjectDigest,
        reads_it: bool,
    ) -> anyhow::Result<Option<bool>> {
        Ok(match reads_it {
            true => self.digest(key).await?.map(|it| it == *written),
            false => self.size(key).map(|it| it == written.bytes),
        })
    }

    /// Writes the copy of an object, and replaces an existing one.
    ///
    /// # Errors
    /// The object cannot be read, or the copy cannot be written.
    pub async fn put(
        &self,
        key: &str,
        content: BoxStream<'_, Result<Bytes, ObjectError>>,
    ) -> Result<ObjectDigest, ObjectError> {
        let to = image_path(key);
        let objects = &self.repository.objects;
        let written = objects.put_stream(&to, media_type(key), content).await?;
        let mut sizes = self.sizes.borrow_mut();
        sizes.insert(fingerprint(&[&to]), written.bytes);
        Ok(written)
    }

    /// Refuses to replace the copy `held` of an object if a backup needs it. `skips_damaged`: leave out backups whose list is damaged.
    ///
    /// # Errors
    /// A backup needs it, or the list of a backup is damaged or cannot be read.
    pub async fn check_replaceable(
        &self,
        key: &str,
        held: &ObjectDigest,
        skips_damaged: bool,
    ) -> anyhow::Result<()> {
        let needed_by = self
            .needed_by
            .get_or_try_init(|| needed_by(self.repository, skips_damaged));
        if let Some(id) = needed_by.await?.get(&fingerprint(&[key, &held.sha256])) {
            bail!(
                "{key} in {} differs from the service's, and the backup {id} needs it, so it is not replaced: an older backup was restored, \
                 and a job ran again. Use a new backup location",
                self.repository.name()
            );
        }
        Ok(())
    }
}

/// The newest backup that needs each content of each object, from the lists of all backups.
async fn needed_by(
    repository: &Repository,
    skips_damaged: bool,
) -> anyhow::Result<HashMap<Fingerprint, Rc<str>>> {
    let temp_dir = repository.temp_dir();
    let mut needed_by = HashMap::new();
    // Oldest first, so that the newest one replaces the others.
    for id in repository.ids().await? {
        let id: Rc<str> = id.into();
        let added = async {
            let Some(mut list) = object_list(repository, &id, &temp_dir).await? else {
                return Ok(());
            };
            while let Some(listed) = list.read()? {
                if let Some(digest) = &listed.digest {
                    let content = fingerprint(&[&listed.key, &digest.sha256]);
                    needed_by.insert(content, Rc::clone(&id));
                }
            }
            anyhow::Ok(())
        };
        match added.await {
            Err(error) if skips_damaged && is_damage(&error) => {}
            added => added.with_context(|| format!("the backup {id}"))?,
        }
    }
    Ok(needed_by)
}

fn is_not_found(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ObjectError::NotFound { .. }))
}

/// Is the list of a backup damaged or missing? A store that fails says nothing about the list.
fn is_damage(error: &anyhow::Error) -> bool {
    !error.is::<ObjectError>() || is_not_found(error)
}

fn fingerprint(texts: &[&str]) -> Fingerprint {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text);
        hash.update([0]);
    }
    let mut fingerprint = Fingerprint::default();
    let bytes = fingerprint.len();
    fingerprint.copy_from_slice(&hash.finalize()[..bytes]);
    fingerprint
}
