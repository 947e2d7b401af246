//! Small images, valid and misleading.

use image::{DynamicImage, ImageFormat, Rgb, RgbImage, RgbaImage};
use std::io::Cursor;

/// The one-pixel PNG that the test generator returns.
pub fn tiny_png() -> Vec<u8> {
    encoded(1, 1, ImageFormat::Png)
}

/// A blank image.
pub fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(RgbImage::new(width, height))
        .write_to(&mut bytes, format)
        .unwrap();
    bytes.into_inner()
}

pub fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(width, height, ImageFormat::Png)
}

/// A PNG whose pixels are all transparent.
pub fn transparent(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let image = DynamicImage::from(RgbaImage::new(width, height));
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// The first three quarters of an image file: the header is complete, the pixels are truncated.
pub fn cut_off(format: ImageFormat) -> Vec<u8> {
    let image = RgbImage::from_fn(64, 64, |x, y| {
        Rgb([x * y, (x * 7) ^ (y * 13), x * x + y].map(|it| it as u8))
    });
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    let mut bytes = bytes.into_inner();
    bytes.truncate(bytes.len() * 3 / 4);
    bytes
}

/// A JPEG of this stored size with an EXIF orientation (1 to 8).
pub fn turned_jpeg(width: u32, height: u32, orientation: u8) -> Vec<u8> {
    let jpeg = encoded(width, height, ImageFormat::Jpeg);
    // TIFF, big endian, one directory of one SHORT: tag 0x0112, orientation.
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let mut turned = jpeg[..2].to_vec();
    turned.extend([0xff, 0xe1]);
    turned.extend((exif.len() as u16 + 2).to_be_bytes());
    turned.extend(exif);
    turned.extend(&jpeg[2..]);
    turned
}

/// A PNG of a few bytes whose header claims this size.
pub fn claiming_png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = tiny_png();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    bytes
}

/// A one-pixel PNG with an unknown chunk of this many bytes before its end.
pub fn heavy_png(bytes: u32) -> Vec<u8> {
    let mut png = tiny_png();
    let end = png.split_off(png.len() - 12);
    png.extend(bytes.to_be_bytes());
    png.extend(b"juNk");
    png.resize(png.len() + bytes as usize + 4, 0);
    png.extend(end);
    png
}
