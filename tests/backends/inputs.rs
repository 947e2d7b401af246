//! Input images sent to a backend stay within its limits, even after re-encoding.

use crate::fixture::{Fixture, run};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use std::io::Cursor;
use tintype::backends::inputs::{Accepts, load};
use tintype_imaging::ImageKind;

/// A rotated photograph: small as a JPEG, large as the PNG that it becomes when it is turned upright.
pub fn on_its_side(side: u32) -> Vec<u8> {
    let pixels = RgbImage::from_fn(side, side, |x, y| {
        let mixed = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761);
        let mixed = mixed ^ (mixed >> 13);
        Rgb([mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8])
    });
    let mut jpeg = Cursor::new(Vec::new());
    let image = DynamicImage::ImageRgb8(pixels);
    image
        .write_to(&mut jpeg, ImageFormat::Jpeg)
        .expect("encoded");
    let jpeg = jpeg.into_inner();
    let exif = [
        &b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01"[..],
        &b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"[..],
    ]
    .concat();
    [&jpeg[..2], &exif[..], &jpeg[2..]].concat()
}

#[test]
fn the_size_limit_applies_to_the_bytes_sent_and_not_to_the_bytes_received() {
    let accepts = Accepts {
        kinds: &[ImageKind::Png, ImageKind::Jpeg],
        max_bytes: 600_000,
        max_total_bytes: 1_000_000,
        max_count: 14,
    };
    let photograph = on_its_side(400);
    assert!(photograph.len() * 3 < accepts.max_total_bytes);
    let fixture = Fixture::new();
    run(async {
        let task = fixture.task_with(&vec![photograph; 3]).await;
        let fitted = load(&fixture.objects, &task, accepts).await.expect("loads");
        let sizes: Vec<usize> = fitted.iter().map(|it| it.bytes.len()).collect();
        assert_eq!(sizes.len(), 3);
        assert!(
            sizes.iter().sum::<usize>() <= accepts.max_total_bytes,
            "{sizes:?}"
        );
    });
}
