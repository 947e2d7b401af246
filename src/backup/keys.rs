//! Backs up and restores the key files of a data directory. Without them the service cannot sign webhooks or honour the download
//! URLs that it has issued.

use super::manifest::{KEY_FILES, Manifest, Part};
use super::repository::{Repository, path};
use crate::private_file;
use anyhow::{Context as _, bail};
use bytes::Bytes;
use std::fs;
use std::io;
use std::path::Path;

/// Copies the existing key files into a backup.
pub async fn copy_in(
    data_dir: &Path,
    repository: &Repository,
    id: &str,
) -> anyhow::Result<Vec<Part>> {
    let mut copied = Vec::new();
    for name in KEY_FILES {
        let file = data_dir.join(name);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            // The token may come from the configuration, and a service without webhooks has no key for their secrets.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("the key file {}", file.display()));
            }
        };
        let key = path(id, &format!("keys/{name}"));
        let content = futures_util::stream::iter([Ok::<_, anyhow::Error>(Bytes::from(bytes))]);
        let media_type = "application/octet-stream";
        let written = repository
            .objects
            .put_stream(&key, media_type, content)
            .await?;
        copied.push(Part {
            name: name.to_owned(),
            digest: written,
        });
    }
    Ok(copied)
}

/// Reads a key file and checks it against the manifest.
///
/// # Errors
/// The file is missing or damaged.
pub async fn read(repository: &Repository, id: &str, part: &Part) -> anyhow::Result<Vec<u8>> {
    let key = path(id, &format!("keys/{}", part.name));
    let mut bytes = Vec::new();
    let collect = |chunk: &[u8]| {
        bytes.extend_from_slice(chunk);
        Ok(())
    };
    repository.read(&key, &part.digest, collect).await?;
    Ok(bytes)
}

/// Restores the key files of a backup into an empty data directory.
///
/// # Errors
/// A key file is missing or damaged, or cannot be written.
pub async fn restore_keys(
    data_dir: &Path,
    repository: &Repository,
    manifest: &Manifest,
) -> anyhow::Result<()> {
    for part in manifest.keys.iter().flatten() {
        // The manifest is untrusted input: it may write no other file in the data directory.
        if !KEY_FILES.contains(&part.name.as_str()) {
            bail!(
                "the backup {} contains the key file {:?}, which this version does not know",
                manifest.id,
                part.name
            );
        }
        let bytes = read(repository, &manifest.id, part).await?;
        let named = || format!("the key file {}", data_dir.join(&part.name).display());
        let created = private_file::create_once(data_dir, &part.name, &bytes);
        if !created.with_context(named)? {
            bail!("{} exists; restore into an empty data directory", named());
        }
    }
    Ok(())
}
