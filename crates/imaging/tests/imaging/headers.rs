//! Tests of recognizing formats and measuring images, in chunks of every size, valid and damaged.

use crate::sample_files::*;
use tintype_imaging::{HeaderFault, HeaderReader, ImageKind, MAX_SIDE, Size, SizeFault};

const MAX_PIXELS: u64 = 64_000_000;

fn measure_in(pieces: usize, image: &[u8]) -> Result<(u32, u32), HeaderFault> {
    let mut header = HeaderReader::new(ImageKind::from_bytes(image).expect("a known format"));
    image
        .chunks(pieces)
        .try_for_each(|piece| header.push(piece))?;
    header
        .finish()
        .map(|Size { width, height }| (width, height))
}

/// Measures an image, and checks that the result does not depend on the chunk size.
fn measure(image: &[u8]) -> Result<(u32, u32), HeaderFault> {
    let whole = measure_in(image.len(), image);
    for pieces in [1, 2, 3, 7, 64, 1_000] {
        assert_eq!(measure_in(pieces, image), whole, "in pieces of {pieces}");
    }
    whole
}

#[test]
fn recognizes_and_measures_every_kind() {
    for (kind, image) in one_of_each() {
        assert_eq!(ImageKind::from_bytes(&image), Some(kind));
        assert_eq!(measure(&image), Ok((300, 200)), "{kind:?}");
        assert!(kind.mime().starts_with("image/"));
    }
    assert_eq!(measure(&riff(&[(b"VP8L", vp8l(300, 200))])), Ok((300, 200)));
    assert_eq!(
        measure(&riff(&[
            (b"VP8X", vp8x(300, 200)),
            (b"VP8 ", vp8(300, 200))
        ])),
        Ok((300, 200))
    );
    // The two upper bits of a lossy frame's sides are not part of them.
    assert_eq!(measure(&webp(300 | 0x4000, 200 | 0x8000)), Ok((300, 200)));
}

#[test]
fn recognizes_files_that_encoders_wrote() {
    use image::ImageFormat::{Gif, Jpeg, Png, WebP};
    for (format, kind) in [
        (Png, ImageKind::Png),
        (Jpeg, ImageKind::Jpeg),
        (WebP, ImageKind::WebP),
        (Gif, ImageKind::Gif),
    ] {
        let mut file = std::io::Cursor::new(Vec::new());
        image::RgbImage::new(31, 17)
            .write_to(&mut file, format)
            .unwrap();
        assert_eq!(ImageKind::from_bytes(file.get_ref()), Some(kind));
        assert_eq!(measure(file.get_ref()), Ok((31, 17)), "{format:?}");
    }
}

#[test]
fn distinguishes_the_codings_of_the_common_container() {
    let of = |major: &[u8; 4], compatible: &[u8]| {
        ImageKind::from_bytes(&[ftyp(major, compatible), vec![0; 64]].concat())
    };
    assert_eq!(of(b"mif1", b"mif1heic"), Some(ImageKind::Heic));
    assert_eq!(of(b"mif1", b"mif1miafavif"), Some(ImageKind::Avif));
    assert_eq!(of(b"avis", b"msf1"), Some(ImageKind::Avif));
    assert_eq!(of(b"heix", b""), Some(ImageKind::Heic));
    // Films, other codings, and brands beyond the end of their box.
    for (major, compatible) in [
        (b"isom", b"isomiso2avc1mp41".as_slice()),
        (b"mp42", b"mp42isom"),
        (b"qt  ", b""),
        (b"mif1", b"mif1"),
        (b"avci", b"mif1"),
        (b"jpeg", b""),
    ] {
        assert_eq!(of(major, compatible), None, "{major:?}");
    }
    assert_eq!(
        ImageKind::from_bytes(&[ftyp(b"isom", b""), b"avif".to_vec()].concat()),
        None
    );
}

#[test]
fn data_of_other_formats_is_not_recognized() {
    let others: [&[u8]; 20] = [
        b"",
        b"x",
        b"<!DOCTYPE html><html></html>",
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
        b"<?xml version=\"1.0\"?><!DOCTYPE svg [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><svg>&x;</svg>",
        b"II*\0\x08\0\0\0",
        b"MM\0*\0\0\0\x08",
        b"BM\x46\0\0\0\0\0",
        b"%PDF-1.7",
        b"%!PS-Adobe-3.0 EPSF-3.0",
        b"\0\0\x01\0\x01\0",
        b"8BPS\0\x01",
        b"\xff\x0a\0\0\0\0\0\0\0\0\0\0",
        b"\0\0\0\x0cJXL \x0d\x0a\x87\x0a",
        b"\0\0\0\x0cjP  \x0d\x0a\x87\x0a",
        b"\x89PNG\n\x1a\n\0",
        b"GIF90a\0\0\0\0",
        b"RIFF\x10\0\0\0WAVEfmt ",
        b"\x1f\x8b\x08\0\0\0\0\0",
        b"PK\x03\x04",
    ];
    for bytes in others {
        assert_eq!(ImageKind::from_bytes(bytes), None, "{bytes:?}");
    }
    for (kind, image) in one_of_each() {
        let short = if matches!(kind, ImageKind::Jpeg) {
            2
        } else {
            5
        };
        assert_eq!(ImageKind::from_bytes(&image[..short]), None, "{kind:?}");
    }
}

#[test]
fn orientation_swaps_the_sides() {
    for orientation in 0..=9 {
        let expected = if (5..=8).contains(&orientation) {
            (200, 300)
        } else {
            (300, 200)
        };
        let block = exif(orientation);
        let prefixed = [b"Exif\0\0", block.as_slice()].concat();
        let images = [
            jpeg_with(300, 200, &[app1(&block)]),
            png_with(300, 200, &[(b"eXIf", block.clone())], &[]),
            png_with(
                300,
                200,
                &[],
                &[(b"tEXt", vec![1]), (b"eXIf", block.clone())],
            ),
            riff(&[
                (b"VP8X", vp8x(300, 200)),
                (b"VP8 ", vp8(300, 200)),
                (b"EXIF", block),
            ]),
            riff(&[
                (b"VP8X", vp8x(300, 200)),
                (b"VP8 ", vp8(300, 200)),
                (b"EXIF", prefixed),
            ]),
        ];
        for (index, image) in images.iter().enumerate() {
            assert_eq!(
                measure(image),
                Ok(expected),
                "orientation {orientation}, image {index}"
            );
        }
    }
}

#[test]
fn the_rotation_of_a_container_is_applied() {
    let turned = |turns: u8| {
        let properties = [ispe(64, 64), ispe(300, 200), boxed(b"irot", &[turns])];
        [ftyp(b"heic", b"mif1"), meta(&properties)].concat()
    };
    assert_eq!(measure(&turned(0)), Ok((300, 200)));
    assert_eq!(measure(&turned(1)), Ok((200, 300)));
    assert_eq!(measure(&turned(2)), Ok((300, 200)));
    assert_eq!(measure(&turned(3)), Ok((200, 300)));
}

#[test]
fn an_unreadable_exif_block_is_ignored() {
    let blocks = [
        vec![],
        vec![0xff; 40],
        b"MM\0\x2a\xff\xff\xff\xff".to_vec(),
        b"MM\0\x2a\0\0\0\x08\xff\xff".to_vec(),
        // A directory that is its own successor.
        b"MM\0\x2a\0\0\0\x08\0\0\0\0\0\x08".to_vec(),
        exif(6)[..20].to_vec(),
    ];
    for block in blocks {
        assert_eq!(
            measure(&jpeg_with(300, 200, &[app1(&block)])),
            Ok((300, 200)),
            "{block:?}"
        );
        assert_eq!(
            measure(&png_with(300, 200, &[(b"eXIf", block)], &[])),
            Ok((300, 200))
        );
    }
}

#[test]
fn size_and_orientation_are_found_at_any_position() {
    // A phone's depth map: megabytes of application segments before the frame header.
    let mut before = vec![app1(&exif(6))];
    before.extend((0..60).map(|_| (0xe1, vec![7; 65_000])));
    assert_eq!(
        measure_in(1 << 16, &jpeg_with(300, 200, &before)),
        Ok((200, 300))
    );
    // Fill bytes before a marker.
    let mut filled = jpeg(300, 200);
    filled.splice(2..2, [0xff; 9]);
    assert_eq!(measure(&filled), Ok((300, 200)));
    // Media data before its description, with a size in 64 bits.
    let mut data = [
        1_u32.to_be_bytes().as_slice(),
        b"mdat",
        &(16 + 500_u64).to_be_bytes(),
    ]
    .concat();
    data.extend([3; 500]);
    let late = [
        ftyp(b"avif", b""),
        boxed(b"free", &[]),
        data,
        meta(&[ispe(300, 200)]),
    ]
    .concat();
    assert_eq!(measure(&late), Ok((300, 200)));
}

#[test]
fn animations_are_measured_by_their_canvas() {
    let mut after = vec![(b"acTL".as_slice(), vec![0, 0, 0x27, 0x10, 0, 0, 0, 0])];
    after.extend((0..10_000).map(|_| (b"fcTL".as_slice(), vec![0; 26])));
    assert_eq!(
        measure_in(1 << 16, &png_with(300, 200, &after, &[])),
        Ok((300, 200))
    );
    let frames = [
        (b"VP8X".as_slice(), vp8x(300, 200)),
        (b"ANIM", vec![0; 6]),
        (b"ANMF", vec![0; 33]),
    ];
    assert_eq!(measure(&riff(&frames)), Ok((300, 200)));
}

/// A decoder allocates memory for the frame, not for the declared size.
#[test]
fn frames_of_another_size_than_the_image_are_damaged() {
    let animated = |frame: Vec<u8>| {
        riff(&[
            (b"VP8X", vp8x(300, 200)),
            (b"ANIM", vec![0; 6]),
            (b"ANMF", frame),
        ])
    };
    let frame = |name: &[u8], data: Vec<u8>| {
        let sides = vp8x(30, 20).split_off(4);
        let chunks = riff(&[(b"ALPH", vec![0; 3]), (name, data)]).split_off(12);
        [vec![0; 6], sides, vec![0; 4], chunks].concat()
    };
    let still = |name: &[u8], data| riff(&[(b"VP8X", vp8x(300, 200)), (name, data)]);
    let whole = [
        still(b"VP8L", vp8l(300, 200)),
        animated(frame(b"VP8 ", vp8(30, 20))),
        animated(frame(b"VP8L", vp8l(30, 20))),
    ];
    for image in whole {
        assert_eq!(measure(&image), Ok((300, 200)));
    }
    let screen_of = |width: u8| {
        let mut image = gif(300, 200);
        let descriptor = image.iter().rposition(|it| *it == 0x2c).expect("an image");
        image[6..10].copy_from_slice(&[2, 0, 2, 0]);
        image[descriptor + 5] = width;
        image
    };
    assert_eq!(measure(&screen_of(2)), Ok((2, 2)));
    let damaged = [
        still(b"VP8 ", vp8(16_383, 16_383)),
        still(b"VP8L", vp8l(300, 201)),
        still(b"VP8 ", vec![]),
        animated(frame(b"VP8 ", vp8(300, 200))),
        animated(frame(b"VP8L", vp8l(30, 21))),
        animated(frame(b"VP8 ", vp8(30, 20))[..40].to_vec()),
        animated(vec![0; 20]),
        // A later chunk is the one that the decoder finds.
        riff(&[
            (b"VP8X", vp8x(300, 200)),
            (b"VP8L", vp8l(300, 200)),
            (b"VP8 ", vp8(9_000, 9_000)),
        ]),
        screen_of(3),
    ];
    for image in damaged {
        assert_eq!(measure(&image), Err(HeaderFault::Damaged), "{image:02x?}");
    }
}

#[test]
fn broken_headers_are_faults() {
    let damaged = [
        // A chunk other than the header first; a header of the wrong length.
        [&png(3, 2)[..8], b"\0\0\0\x0dIDATaaaaaaaaaaaaaaaaaaaaaaaa"].concat(),
        [&png(3, 2)[..8], b"\0\0\0\x0cIHDRaaaaaaaaaaaaaaaaaaaaaaaa"].concat(),
        // No marker where one has to be; a segment shorter than its own length; an image without a frame.
        b"\xff\xd8\xff\xe0\0\x04\0\0xx".to_vec(),
        b"\xff\xd8\xff\xe0\0\x01xxxx".to_vec(),
        b"\xff\xd8\xff\xda\0\x04xxxx".to_vec(),
        b"\xff\xd8\xff\xd9xxxxxx".to_vec(),
        // WebP with a first chunk that is none, and with a frame that is no key frame.
        riff(&[(b"ABCD", vec![0; 20])]),
        riff(&[(b"VP8 ", vec![0xff; 20])]),
        riff(&[(b"VP8L", vec![0; 20])]),
        riff(&[(b"VP8X", vec![0; 4]), (b"VP8 ", vp8(3, 2))]),
        // Boxes smaller than their own head; a description without a size; an empty one.
        [ftyp(b"avif", b""), b"\0\0\0\x07metaxxxx".to_vec()].concat(),
        [
            ftyp(b"avif", b""),
            b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x0f".to_vec(),
        ]
        .concat(),
        [ftyp(b"avif", b""), b"\0\0\0\0mdatxxxx".to_vec()].concat(),
        [ftyp(b"avif", b""), meta(&[])].concat(),
        [ftyp(b"avif", b""), boxed(b"meta", &[])].concat(),
        [ftyp(b"avif", b""), boxed(b"meta", &[0; 40])].concat(),
        // A second type, refused at once: a file of types only would be kept whole.
        [ftyp(b"avif", b""), ftyp(b"avif", b"")].concat(),
    ];
    for image in damaged {
        assert_eq!(
            measure(&image),
            Err(HeaderFault::Damaged),
            "{:?}",
            String::from_utf8_lossy(&image)
        );
    }
}

#[test]
fn parts_that_would_fill_memory_are_refused_before_they_are_read() {
    let large = [
        [&png(3, 2)[..33], b"\xff\xff\xff\xffeXIf"].concat(),
        [ftyp(b"heic", b""), b"\xff\xff\xff\xffmeta".to_vec()].concat(),
        b"\x7f\xff\xff\xffftypavif".to_vec(),
        [&riff(&[(b"VP8X", vp8x(3, 2))])[..], b"EXIF\xff\xff\xff\xff"].concat(),
    ];
    for image in large {
        let longer = [image, vec![0; 64]].concat();
        assert_eq!(measure(&longer), Err(HeaderFault::HeaderTooLarge));
    }
}

/// Every prefix of every image is measured correctly or reported as truncated.
#[test]
fn every_truncated_image_is_measured_correctly_or_reported_as_truncated() {
    let turned = jpeg_with(300, 200, &[app1(&exif(6))]);
    let images = one_of_each()
        .into_iter()
        .map(|(_, image)| (image, (300, 200)));
    for (image, size) in images.chain([(turned, (200, 300))]) {
        for length in 12..image.len() {
            match measure_in(5, &image[..length]) {
                Ok(found) => assert_eq!(found, size),
                Err(HeaderFault::TruncatedHeader | HeaderFault::TruncatedImage) => {}
                Err(fault) => panic!("{fault}"),
            }
        }
    }
}

/// A decoder would fail only after the job was accepted, or fill the missing part with grey.
#[test]
fn a_file_whose_first_image_has_no_end_is_reported_as_cut_off() {
    let extended = [
        (b"VP8X".as_slice(), vp8x(300, 200)),
        (b"ICCP", vec![1; 5]),
        (b"VP8 ", vp8(300, 200)),
        (b"EXIF", exif(1)),
    ];
    let behind = exif(1).len() + 8;
    let several_scans = {
        let mut file = jpeg(300, 200);
        let end = file.len() - 2;
        let restart = [0xff, 0xd0, 0xff, 0, 0xff, 0xff, 0xda, 0, 3, 1, 7];
        file.splice(end..end, restart);
        file
    };
    // With the number of bytes after the first image, which may be missing.
    for (name, whole, behind) in [
        ("PNG", png(300, 200), 4),
        ("JPEG", jpeg(300, 200), 0),
        ("JPEG of several scans", several_scans, 0),
        ("GIF", gif(300, 200), 1),
        ("WebP", webp(300, 200), 1),
        ("lossless WebP", riff(&[(b"VP8L", vp8l(300, 200))]), 1),
        ("extended WebP", riff(&extended), behind + 1),
    ] {
        for missing in 0..(whole.len() - 16).min(30) {
            let found = measure(&whole[..whole.len() - missing]);
            let expected = match missing <= behind {
                true => Ok((300, 200)),
                false => Err(HeaderFault::TruncatedImage),
            };
            let is_header = found == Err(HeaderFault::TruncatedHeader);
            assert!(
                found == expected || is_header && missing > behind,
                "{name} without {missing}: {found:?}"
            );
        }
        assert_eq!(
            measure(&[&whole[..], b"more"].concat()),
            Ok((300, 200)),
            "{name}"
        );
    }
}

#[test]
fn truncated_files_of_real_encoders_are_reported_as_cut_off() {
    use image::ImageFormat::{Gif, Jpeg, Png, WebP};
    for format in [Png, Jpeg, WebP, Gif] {
        let mut file = std::io::Cursor::new(Vec::new());
        let image = image::RgbImage::from_fn(61, 47, |x, y| {
            image::Rgb([x * y, x ^ y, 7 * x].map(|it| it as u8))
        });
        image.write_to(&mut file, format).unwrap();
        let whole = file.into_inner();
        for tenths in 2..10 {
            let part = &whole[..whole.len() * tenths / 10];
            let found = measure_in(64, part);
            let is_refused = matches!(
                found,
                Err(HeaderFault::TruncatedImage | HeaderFault::TruncatedHeader)
            );
            assert!(is_refused, "{format:?}, {tenths} tenths: {found:?}");
        }
    }
}

/// Replaces every byte of every image by a few values: any result is right, but no panic and no endless loop.
#[test]
fn no_single_changed_byte_causes_a_panic() {
    let turned = png_with(300, 200, &[(b"eXIf", exif(6))], &[]);
    let images = one_of_each().into_iter().map(|(_, image)| image);
    let extended = riff(&[(b"VP8X", vp8x(300, 200)), (b"EXIF", exif(6))]);
    for image in images.chain([turned, jpeg_with(3, 2, &[app1(&exif(6))]), extended]) {
        for place in 0..image.len() {
            for value in [0, 1, 7, 8, 0x7f, 0x80, 0xfe, 0xff] {
                let mut broken = image.clone();
                broken[place] = value;
                if ImageKind::from_bytes(&broken).is_some() {
                    let _ = measure_in(11, &broken);
                }
            }
        }
    }
}

#[test]
fn sizes_are_bounded() {
    let check = |width, height| Size { width, height }.check(MAX_PIXELS);
    for (width, height) in [(1, 1), (MAX_SIDE, 1), (8_000, 8_000), (MAX_SIDE, 3_906)] {
        assert!(check(width, height).is_ok(), "{width} x {height}");
    }
    for (width, height) in [
        (MAX_SIDE + 1, 1),
        (8_001, 8_000),
        (MAX_SIDE, 3_907),
        (u32::MAX, u32::MAX),
    ] {
        assert_eq!(
            check(width, height),
            Err(SizeFault::TooLarge {
                width,
                height,
                max_pixels: MAX_PIXELS,
            })
        );
    }
    for (width, height) in [(0, 0), (0, 5), (5, 0)] {
        assert_eq!(
            check(width, height),
            Err(SizeFault::Empty { width, height })
        );
    }
    // As large as a header can say, in every format that can say it.
    assert_eq!(measure(&png(u32::MAX, u32::MAX)), Ok((u32::MAX, u32::MAX)));
    assert_eq!(
        measure(&heif(b"avif", u32::MAX, u32::MAX)),
        Ok((u32::MAX, u32::MAX))
    );
    assert_eq!(measure(&jpeg(u16::MAX, 0)), Ok((65_535, 0)));
}
