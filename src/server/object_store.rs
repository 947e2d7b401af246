//! Opens the configured object store: a bucket, or a directory in the data directory.

use super::start_error::StartError;
use crate::config::Config;
use crate::objects::{FileSigningKey, ObjectStorage};

/// Opens the object store for inspection, without a signing key. `None` if its local directory does not exist.
pub fn inspect(config: &Config) -> Result<Option<ObjectStorage>, StartError> {
    let is_local = config.storage.objects.is_none();
    if is_local && !ObjectStorage::local_directory(&config.storage.data_dir).is_dir() {
        return Ok(None);
    }
    open_unsigned(config).map(Some)
}

/// Opens the object store for a command, which signs no URLs and so must create no signing key.
pub fn open_unsigned(config: &Config) -> Result<ObjectStorage, StartError> {
    let unused = FileSigningKey::from_bytes(&[0; 32]);
    open(config, &config.public_url(), unused)
}

/// Opens the object store. `signing_key` signs the URLs of a local directory.
pub fn open(
    config: &Config,
    public_url: &str,
    signing_key: FileSigningKey,
) -> Result<ObjectStorage, StartError> {
    let storage = &config.storage;
    let objects = storage.objects.as_ref().map(ToString::to_string);
    let objects = objects.unwrap_or_default();
    Ok(ObjectStorage::open(
        &objects,
        &storage.data_dir,
        public_url,
        signing_key,
    )?)
}
