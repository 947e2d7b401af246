//! Streams images to the object store, and deletes those that are no longer needed.

mod body_upload;
mod image_upload;
mod object_upload;

pub use body_upload::{BodyUpload, StoredUpload};
pub use image_upload::{ImageUpload, StoredImage};
pub use object_upload::Alive;

use super::InputImage;
use object_store::{ObjectStore, path::Path};

/// Deletes stored images that are no longer needed. Logs failures.
pub async fn discard(store: &dyn ObjectStore, images: &[InputImage]) {
    for image in images {
        object_upload::remove(store, &Path::from(image.key.as_str())).await;
    }
}
