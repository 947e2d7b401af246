//! Finds the backups that share an object.

use super::manifest::Manifest;
use super::object_list::ObjectList;
use super::repository::Repository;
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
