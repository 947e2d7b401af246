//! The object store of a data directory, opened as the configuration says.

use super::start_error::StartError;
use crate::config::Config;
use crate::images::{FileSigningKey, Images};

/// Opens the object store of a data directory.
pub fn open_images(config: &Config, public_url: &str) -> Result<Images, StartError> {
    let signing_key = FileSigningKey::load_or_create(&config.storage.data_dir)?;
    open_images_with(config, public_url, signing_key)
}

/// Opens the object store to ask for what is there, and signs nothing; `None` where it would have to be made first.
pub fn look_at_images(config: &Config) -> Result<Option<Images>, StartError> {
    let is_local = config.storage.objects.is_none();
    if is_local && !Images::local_directory(&config.storage.data_dir).is_dir() {
        return Ok(None);
    }
    let unused = FileSigningKey::from_bytes(&[0; 32]);
    open_images_with(config, &config.public_url(), unused).map(Some)
}

/// Opens the object store, with the key that signs the URLs of a local directory.
pub fn open_images_with(
    config: &Config,
    public_url: &str,
    signing_key: FileSigningKey,
) -> Result<Images, StartError> {
    let objects = config
        .storage
        .objects
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let data_dir = &config.storage.data_dir;
    Ok(Images::open(&objects, data_dir, public_url, signing_key)?)
}
