//! Masks for servers that read their grey values: white where the image may change. A mask of OpenAI's API is transparent there.

use super::upstream::decoding;
use crate::decode_permits::INPUT_DECODING;
use image::{GrayImage, ImageFormat, Luma};
use std::io::Cursor;
use tintype_actors::ports::GenerateError;
use tintype_imaging::decoding::open_any;
use tintype_imaging::fit::FittedImage;
use tintype_imaging::{DecodePermit, ImageKind};
use tintype_storage::domain::ids::AccountId;

/// Converts a mask of OpenAI's API.
///
/// # Errors
/// `InvalidRequest` for a damaged mask; `Refused` for one without an alpha channel.
pub async fn to_luma(account: AccountId, mask: FittedImage) -> Result<FittedImage, GenerateError> {
    let bytes = decoding(&INPUT_DECODING, account, move |permit| {
        convert(permit, &mask.bytes)
    });
    Ok(FittedImage {
        bytes: bytes.await?.into(),
        kind: ImageKind::Png,
    })
}

fn convert(permit: &DecodePermit, mask: &[u8]) -> Result<Vec<u8>, GenerateError> {
    let damaged =
        || GenerateError::InvalidRequest("the mask is damaged and cannot be decoded".to_owned());
    let opened = open_any(permit, mask).map_err(|_| damaged())?;
    let pixels = opened.decode(u32::MAX).map_err(|_| damaged())?;
    if !pixels.has_alpha() {
        return Err(GenerateError::Refused(
            "the mask has no alpha channel; send a PNG whose transparent pixels show where the image may change".into(),
        ));
    }
    let mask = pixels.into_stored().into_rgba8();
    let white = GrayImage::from_fn(mask.width(), mask.height(), |x, y| {
        Luma([255 - mask.get_pixel(x, y).0[3]])
    });
    let mut bytes = Cursor::new(Vec::new());
    let written = white.write_to(&mut bytes, ImageFormat::Png);
    written.map_err(|error| {
        GenerateError::BackendFault(format!("the mask could not be encoded: {error}"))
    })?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{DynamicImage, Rgba, RgbaImage};
    use tintype_imaging::DecodePermits;

    fn converted(mask: impl Into<DynamicImage>) -> Result<Vec<u8>, GenerateError> {
        let mut bytes = Cursor::new(Vec::new());
        mask.into().write_to(&mut bytes, ImageFormat::Png).unwrap();
        DecodePermits::unshared(|permit| convert(permit, bytes.get_ref()))
    }

    #[test]
    fn a_transparent_pixel_becomes_white() {
        let mask = RgbaImage::from_fn(3, 1, |x, _| Rgba([9, 9, 9, [0, 100, 255][x as usize]]));
        let read = image::load_from_memory(&converted(mask).unwrap()).unwrap();
        assert_eq!(read.into_luma8().into_raw(), [255, 155, 0]);
    }

    #[test]
    fn a_mask_without_an_alpha_channel_is_refused() {
        let refused = converted(image::RgbImage::new(3, 3)).unwrap_err();
        assert!(matches!(refused, GenerateError::Refused(_)), "{refused:?}");
        let damaged = DecodePermits::unshared(|permit| convert(permit, b"no image"));
        assert!(matches!(damaged, Err(GenerateError::InvalidRequest(_))));
    }
}
