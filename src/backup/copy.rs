//! Copies the objects that records reference to another object store, under the same keys.

use super::create::CONCURRENCY;
use super::object_list::{Lifetime, ObjectRef, References};
use crate::objects::{ObjectError, ObjectStorage, media_type};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::fs::File;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::time::Timestamp;

/// The totals of a copy.
#[derive(Debug, Default)]
pub struct CopyTotals {
    pub copied: u64,
    /// Of the copied objects.
    pub bytes: u64,
    /// Objects that an interrupted earlier run had already copied.
    pub there: u64,
    /// Objects that retention or their owner has deleted.
    pub expired: u64,
    /// Keys of objects that should exist and do not.
    pub missing: Vec<String>,
}

enum Outcome {
    Copied { bytes: u64 },
    There,
    Expired,
    Missing(String),
}

/// Copies the objects that an export references. Retention may have removed objects of jobs that ended before `kept_since`.
///
/// # Errors
/// An object cannot be read or written, or the export is damaged.
pub async fn copy_objects(
    records: &File,
    kept_since: Timestamp,
    from: &ObjectStorage,
    to: &ObjectStorage,
    say: &dyn Fn(String),
) -> anyhow::Result<CopyTotals> {
    let mut copies = stream::iter(References::of(records)?)
        .map(|object| async { copy(object?, kept_since, from, to).await })
        .buffered(CONCURRENCY);
    let mut all = CopyTotals::default();
    while let Some(outcome) = copies.try_next().await? {
        match outcome {
            Outcome::Copied { bytes } => {
                all.copied += 1;
                all.bytes += bytes;
            }
            Outcome::There => all.there += 1,
            Outcome::Expired => all.expired += 1,
            Outcome::Missing(key) => all.missing.push(key),
        }
        say(format!("{} copied", counted(all.copied, "image")));
    }
    Ok(all)
}

async fn copy(
    object: ObjectRef,
    kept_since: Timestamp,
    from: &ObjectStorage,
    to: &ObjectStorage,
) -> anyhow::Result<Outcome> {
    // Its deletion may not have reached the object store yet.
    if object.lifetime == Lifetime::Deleted {
        return Ok(Outcome::Expired);
    }
    let key = object.key;
    let found = match from.head(&key).await {
        Ok(found) => found,
        Err(ObjectError::NotFound { .. }) => {
            return Ok(match object.lifetime {
                Lifetime::Ended(at) if at < kept_since => Outcome::Expired,
                _ => Outcome::Missing(key),
            });
        }
        Err(error) => return Err(error.into()),
    };
    match to.head(&key).await {
        Ok(there) if there.size == found.size => return Ok(Outcome::There),
        Ok(_) | Err(ObjectError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let chunks = from.chunks(&key).await?.map_err(anyhow::Error::new);
    let written = to.put_stream(&key, media_type(&key), chunks).await?;
    anyhow::ensure!(
        written.bytes == found.size,
        "{key} has {} bytes, but {} were read",
        found.size,
        written.bytes
    );
    Ok(Outcome::Copied {
        bytes: written.bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::os::unix::fs::symlink;

    #[tokio::test]
    async fn an_object_of_the_target_that_cannot_be_looked_up_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name: &str| ObjectStorage::open_directory(&directory.path().join(name));
        let (from, to) = (open("from").unwrap(), open("to").unwrap());
        let key = "results/a.png";
        let image = Bytes::from_static(b"an image");
        from.put(key, image, "image/png").await.unwrap();
        let target = directory.path().join("to").join(key);
        std::fs::create_dir(target.parent().unwrap()).unwrap();
        // A link to itself.
        symlink(&target, &target).unwrap();
        let object = ObjectRef {
            record: String::new(),
            key: key.to_owned(),
            bytes: None,
            lifetime: Lifetime::Kept,
        };
        let refused = copy(object.clone(), Timestamp::EPOCH, &from, &to).await;
        let refused = refused.err().expect("an error").to_string();
        assert!(refused.contains("looking up"), "{refused}");
        assert!(target.is_symlink());
        std::fs::remove_file(&target).unwrap();
        let copied = copy(object.clone(), Timestamp::EPOCH, &from, &to).await;
        assert!(matches!(copied, Ok(Outcome::Copied { .. })));
        let again = copy(object, Timestamp::EPOCH, &from, &to).await;
        assert!(matches!(again, Ok(Outcome::There)));
    }
}
