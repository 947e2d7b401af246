//! Input images for self-hosted servers: decoded once to prove them intact, and converted to a form that all servers read alike.
//!
//! Some servers silently drop a damaged input and generate without it; some ignore the Exif orientation; their formats besides
//! PNG and JPEG differ.

use crate::backends::inputs::{self, Accepts};
use crate::backends::upstream::decoding;
use crate::decode_permits::INPUT_DECODING;
use crate::objects::ObjectStorage;
use tintype_actors::ports::{GenerateError, GenerationTask};
use tintype_imaging::fit::FittedImage;
use tintype_imaging::{ImageKind, OpenedImage, decoding::open_any};
use tintype_storage::domain::request::MAX_INPUTS;

/// An upright PNG or JPEG is sent unchanged; anything else is converted to PNG.
const ACCEPTS: Accepts = Accepts {
    kinds: &[ImageKind::Png, ImageKind::Jpeg],
    max_bytes: 64 * 1024 * 1024,
    max_total_bytes: 200_000_000,
    max_count: MAX_INPUTS,
};

/// Loads the input images of a task from the object store.
///
/// # Errors
/// As [`inputs::load`]; also `InvalidRequest` for an image with an intact header and damaged data.
pub async fn load(
    objects: &ObjectStorage,
    task: &GenerationTask,
) -> Result<Vec<FittedImage>, GenerateError> {
    let originals = inputs::load(objects, task, ACCEPTS).await?;
    for (at, original) in originals.iter().enumerate() {
        let bytes = original.bytes.clone();
        let inspection = decoding(&INPUT_DECODING, task.account, move |permit| {
            open_any(permit, &bytes).and_then(OpenedImage::inspect)
        });
        if inspection.await.is_err() {
            return Err(GenerateError::InvalidRequest(format!(
                "input image {} is damaged and cannot be decoded",
                at + 1
            )));
        }
    }
    Ok(originals)
}
