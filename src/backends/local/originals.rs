//! Input images on their way to a server: proved to be whole, and in a form that all of these servers read alike.
//!
//! Some of them drop a damaged input silently and paint without it, some ignore how a photograph is to be turned, and what
//! they decode besides PNG and JPEG differs.

use crate::backends::inputs::{self, Accepts};
use crate::backends::upstream::decoding;
use crate::image_decoding::INPUTS;
use crate::images::Images;
use tintype_actors::ports::{GenerateError, GenerationTask};
use tintype_imaging::fit::Fitted;
use tintype_imaging::{ImageKind, Opened, decoding::open_any};
use tintype_storage::domain::request::MAX_INPUTS;

/// An upright PNG or JPEG goes as it came, anything else as PNG.
const ACCEPTS: Accepts = Accepts {
    kinds: &[ImageKind::Png, ImageKind::Jpeg],
    max_bytes: 64 * 1024 * 1024,
    max_total_bytes: 200_000_000,
    max_count: MAX_INPUTS,
    heeds_orientation: false,
};

/// Reads the input images of an order from the object store.
///
/// # Errors
///
/// As [`inputs::load`]; `Unsound` for one whose header is whole and the rest of which is not.
pub async fn load(images: &Images, order: &GenerationTask) -> Result<Vec<Fitted>, GenerateError> {
    let originals = inputs::load(images, order, ACCEPTS).await?;
    for (at, original) in originals.iter().enumerate() {
        let bytes = original.bytes.clone();
        let inspection = decoding(&INPUTS, order.account, move |permit| {
            open_any(permit, &bytes).and_then(Opened::inspect)
        });
        if inspection.await.is_err() {
            return Err(GenerateError::Unsound(format!(
                "input image {} is damaged and cannot be decoded",
                at + 1
            )));
        }
    }
    Ok(originals)
}
