//! The key files of a data directory: without them the records can be read, but no webhook be signed, and no address that is
//! out be opened.

use super::manifest::{Manifest, Part};
use super::repository::{self, Repository, path};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What the secrets of webhooks are sealed under.
pub const SECRETS_KEY: &str = "secrets-key";

/// All that a service cannot make again without losing something: the key of the webhooks' secrets, the key that signs the
/// addresses of pictures, the operator's token.
pub const KEY_FILES: [&str; 3] = [SECRETS_KEY, "file-signing-key", "admin-token"];

/// Copies those that are there into a backup.
///
/// # Errors
/// One cannot be read or written.
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
            // The token may be one of the configuration, and a service without webhooks has no key for them.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("the key file {}", file.display()));
            }
        };
        let key = path(id, &format!("keys/{name}"));
        let content = futures_util::stream::iter([Ok::<_, anyhow::Error>(Bytes::from(bytes))]);
        let media_type = "application/octet-stream";
        let written = repository
            .images
            .put_stream(&key, media_type, content)
            .await?;
        copied.push(Part::new(name, written));
    }
    Ok(copied)
}

/// Reads one and compares it with what the manifest says.
///
/// # Errors
/// It is missing or damaged.
pub async fn read(repository: &Repository, id: &str, part: &Part) -> anyhow::Result<Vec<u8>> {
    let key = path(id, &format!("keys/{}", part.name));
    let mut bytes = Vec::new();
    let found = repository::read(&repository.images, &key, |chunk| {
        bytes.extend_from_slice(chunk);
        Ok(())
    });
    repository::same(&key, &part.written(), &found.await?)?;
    Ok(bytes)
}

/// Puts the key files of a backup into an empty data directory.
///
/// # Errors
/// One is missing or damaged, or cannot be written.
pub async fn restore_keys(
    data_dir: &Path,
    repository: &Repository,
    manifest: &Manifest,
) -> anyhow::Result<()> {
    for part in manifest.keys.iter().flatten() {
        // The manifest is what was read: it names no other file of this directory.
        if !KEY_FILES.contains(&part.name.as_str()) {
            bail!(
                "the backup {} has a key file {:?}, which this version does not know",
                manifest.id,
                part.name
            );
        }
        let bytes = read(repository, &manifest.id, part).await?;
        put_back(data_dir, &part.name, &bytes)
            .with_context(|| format!("the key file {}", data_dir.join(&part.name).display()))?;
    }
    Ok(())
}

/// Puts one into a data directory, for its owner alone.
fn put_back(data_dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(data_dir.join(name))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    File::open(data_dir)?.sync_all()
}
