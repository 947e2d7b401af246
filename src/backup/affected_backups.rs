//! Finds the backups that share an object.

use super::manifest::Manifest;
use super::object_list::ObjectList;
use super::repository::Repository;
use crate::objects::ObjectDigest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The ids of the backups that need each of these objects, by the key of the object.
///
/// # Errors
/// The repository does not answer. A backup whose list is damaged is left out, because a check of that backup reports it.
pub async fn affected_backups(
    repository: &Repository,
    keys: &BTreeSet<&str>,
    temp_dir: &Path,
) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut affected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in repository.ids().await? {
        let Ok(Some(mut list)) = object_list(repository, &id, temp_dir).await else {
            continue;
        };
        while let Ok(Some(listed)) = list.read() {
            if keys.contains(listed.key.as_str()) && listed.left_out.is_none() {
                affected.entry(listed.key).or_default().push(id.clone());
            }
        }
    }
    Ok(affected)
}

/// The newest backup that needs the object with this content. `skips_damaged`: leave out backups whose list is damaged.
///
/// # Errors
/// The repository does not answer, or a list is damaged.
pub(super) async fn backup_with(
    repository: &Repository,
    key: &str,
    content: &ObjectDigest,
    skips_damaged: bool,
) -> anyhow::Result<Option<String>> {
    let temp_dir = repository.temp_dir();
    for id in repository.ids().await?.into_iter().rev() {
        match contains(repository, &id, key, content, &temp_dir).await {
            Err(_) if skips_damaged => {}
            Ok(false) => {}
            Ok(true) => return Ok(Some(id)),
            Err(error) => return Err(error.context(format!("the backup {id}"))),
        }
    }
    Ok(None)
}

async fn contains(
    repository: &Repository,
    id: &str,
    key: &str,
    content: &ObjectDigest,
    temp_dir: &Path,
) -> anyhow::Result<bool> {
    let Some(mut list) = object_list(repository, id, temp_dir).await? else {
        return Ok(false);
    };
    while let Some(listed) = list.read()? {
        if listed.key == key && listed.digest.as_ref() == Some(content) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The list of the objects of a backup. `None` if the backup omits them.
///
/// # Errors
/// The manifest or the list is missing or damaged.
pub(super) async fn object_list(
    repository: &Repository,
    id: &str,
    temp_dir: &Path,
) -> anyhow::Result<Option<ObjectList>> {
    let manifest: Manifest = repository.manifest(Some(id)).await?;
    let Some(images) = manifest.images else {
        return Ok(None);
    };
    let file = repository.fetch(id, &images.list, temp_dir).await?;
    Ok(Some(ObjectList::new(&file)?))
}
