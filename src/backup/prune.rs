//! Removes old backups, and the objects that no remaining backup needs.

use super::affected_backups::object_list;
use super::repository::{BACKUPS, IMAGES, Repository, backup_file, id_at, image_path, is_id, path};
use crate::objects::{NAMED_PREFIXES, is_named_key};
use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::time::Duration;
use tintype_storage::domain::counted::counted;

/// A younger object may belong to a backup that is being created.
const MIN_AGE: Duration = Duration::from_secs(86_400);

/// What was removed, or would be.
#[derive(Debug, Serialize)]
pub struct Pruned {
    /// The ids of the removed backups.
    pub removed: Vec<String>,
    /// The ids of the remaining ones.
    pub kept: Vec<String>,
    /// The ids of the removed interrupted backups.
    pub interrupted: BTreeSet<String>,
    /// Removed objects.
    #[serde(rename = "pictures")]
    pub images: u64,
    /// Of the removed objects.
    pub bytes: u64,
}

/// Keeps the newest `keep` backups, and removes the other ones and every object that no kept backup needs. Also removes what
/// interrupted backups have left. Nothing that is less than a day old is removed, except complete backups. `is_dry_run` removes nothing.
/// Files that `backup` does not write stay: the location may be a directory with other content.
///
/// # Errors
/// The repository holds no backup, which another directory does not either. A backup to keep is damaged, or a backup is later than now: then nothing is removed. Or the repository fails; the next call removes the rest.
pub async fn prune(
    repository: &Repository,
    keep: usize,
    is_dry_run: bool,
    say: &dyn Fn(String),
) -> anyhow::Result<Pruned> {
    // The oldest first.
    let mut removed: Vec<String> = repository.ids().await?.into_iter().collect();
    if removed.is_empty() {
        bail!(
            "{} holds no backup; is this the right location?",
            repository.name()
        );
    }
    let now = id_at(Utc::now());
    if let Some(future) = removed.last().filter(|id| **id > now) {
        bail!(
            "nothing was removed, because the backup {future} is later than now: the clock was ahead then, or is behind now. Correct the \
             clock. If the clock was ahead, move backups/{future} out of the repository"
        );
    }
    let kept = removed.split_off(removed.len().saturating_sub(keep));
    say("reading the lists of images".into());
    let needed = needed_objects(repository, &kept).await?;
    if !is_dry_run {
        remove_backups(repository, &removed, say).await?;
    }
    let older_than = Utc::now() - MIN_AGE;
    let complete: Vec<&String> = removed.iter().chain(&kept).collect();
    let interrupted = remove_interrupted(repository, &complete, older_than, is_dry_run).await?;
    if !is_dry_run {
        remove_unfinished_uploads(repository).await?;
    }
    say("removing images".into());
    let (images, bytes) = remove_unneeded(repository, &needed, older_than, is_dry_run, say).await?;
    Ok(Pruned {
        removed,
        kept,
        interrupted,
        images,
        bytes,
    })
}

async fn remove_backups(
    repository: &Repository,
    ids: &[String],
    say: &dyn Fn(String),
) -> anyhow::Result<()> {
    for id in ids {
        say(format!("removing the backup {id}"));
        // First, so that an interruption leaves no backup that seems complete.
        repository
            .objects
            .delete(&path(id, "manifest.json"))
            .await?;
        repository.remove(id).await?;
    }
    Ok(())
}

/// Removes the old files of backups that are not `complete`, and returns their ids.
async fn remove_interrupted(
    repository: &Repository,
    complete: &[&String],
    older_than: DateTime<Utc>,
    is_dry_run: bool,
) -> anyhow::Result<BTreeSet<String>> {
    let mut interrupted = BTreeSet::new();
    for (key, _) in old_objects(repository, BACKUPS, older_than).await? {
        if let Some((id, _)) = backup_file(&key)
            && !complete.iter().any(|it| *it == id)
        {
            if !is_dry_run {
                repository.objects.delete(&key).await?;
            }
            interrupted.insert(id.to_owned());
        }
    }
    Ok(interrupted)
}

/// Removes the old objects that are not `needed`, and returns their number and bytes.
async fn remove_unneeded(
    repository: &Repository,
    needed: &HashSet<String>,
    older_than: DateTime<Utc>,
    is_dry_run: bool,
    say: &dyn Fn(String),
) -> anyhow::Result<(u64, u64)> {
    let (mut images, mut bytes) = (0, 0);
    for (key, size) in old_objects(repository, IMAGES, older_than).await? {
        let is_image = key
            .strip_prefix(IMAGES)
            .and_then(|it| it.strip_prefix('/'))
            .is_some_and(is_named_key);
        if !is_image || needed.contains(&key) {
            continue;
        }
        if !is_dry_run {
            repository.objects.delete(&key).await?;
        }
        images += 1;
        bytes += size;
        say(counted(images, "image"));
    }
    Ok((images, bytes))
}

/// The objects of the repository that these backups need.
async fn needed_objects(
    repository: &Repository,
    ids: &[String],
) -> anyhow::Result<HashSet<String>> {
    let temp_dir = repository.temp_dir();
    let mut needed = HashSet::new();
    for id in ids {
        let add = async {
            let Some(mut list) = object_list(repository, id, &temp_dir).await? else {
                return Ok(());
            };
            while let Some(listed) = list.read()? {
                if listed.left_out.is_none() {
                    needed.insert(image_path(&listed.key));
                }
            }
            anyhow::Ok(())
        };
        add.await.with_context(|| {
            format!(
                "nothing was removed, because the backup {id} is damaged: create another one with --repair, and remove the directory of \
                 the damaged one"
            )
        })?;
    }
    Ok(needed)
}

/// Removes the unfinished files of a local repository that a killed process has left.
async fn remove_unfinished_uploads(repository: &Repository) -> anyhow::Result<()> {
    let Some(directory) = repository.directory() else {
        return Ok(());
    };
    let mut prefixes = NAMED_PREFIXES.map(image_path).to_vec();
    for entry in fs::read_dir(directory.join(BACKUPS))? {
        let name = entry?.file_name();
        let id = name.to_str().filter(|it| is_id(it));
        prefixes.extend(id.map(|id| format!("{BACKUPS}/{id}")));
    }
    for prefix in prefixes {
        let objects = &repository.objects;
        let removal = objects.remove_unfinished_uploads(&prefix, Some(MIN_AGE));
        removal.await?;
    }
    Ok(())
}

/// The keys and sizes of the objects below a prefix that were written before `older_than`.
async fn old_objects(
    repository: &Repository,
    prefix: &str,
    older_than: DateTime<Utc>,
) -> anyhow::Result<Vec<(String, u64)>> {
    let mut objects = repository.objects.list(prefix);
    let mut found = Vec::new();
    while let Some(object) = objects.try_next().await? {
        if object.last_modified < older_than {
            found.push((object.location.to_string(), object.size));
        }
    }
    Ok(found)
}
