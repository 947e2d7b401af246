//! Tests of the public API.

use std::io::Cursor;

use bytes::Bytes;
use image::{ImageFormat, RgbImage};

use super::*;

fn image(prompt: &str, width: u32, height: u32, inputs: &[Bytes]) -> RgbImage {
    let image = draw(&DrawRequest {
        prompt,
        width,
        height,
        inputs,
        has_mask: false,
    })
    .expect("an image");
    assert_eq!((image.width, image.height), (width, height));
    let image = image::load_from_memory_with_format(&image.png, ImageFormat::Png)
        .expect("a PNG")
        .into_rgb8();
    assert_eq!(image.dimensions(), (width, height));
    image
}

fn error(inputs: &[Bytes]) -> String {
    draw(&DrawRequest {
        prompt: "p",
        width: 64,
        height: 64,
        inputs,
        has_mask: false,
    })
    .expect_err("no image")
    .to_string()
}

/// A synthetic photograph: a bright disc over dark ground.
fn photo(width: u32, height: u32, format: ImageFormat) -> Bytes {
    let image = RgbImage::from_fn(width, height, |x, y| {
        let (dx, dy) = (x as i32 - width as i32 / 3, y as i32 - height as i32 / 3);
        let inside = dx * dx + dy * dy < (width * height / 16) as i32;
        image::Rgb(if inside {
            [240, 200, 40]
        } else {
            [20, (y * 200 / height) as u8, 120]
        })
    });
    let mut out = Cursor::new(Vec::new());
    image.write_to(&mut out, format).expect("encodes");
    out.into_inner().into()
}

/// Share of pixels that differ clearly.
fn difference(a: &RgbImage, b: &RgbImage) -> f32 {
    let far = |(p, q): (&image::Rgb<u8>, &image::Rgb<u8>)| {
        p.0.iter().zip(q.0).any(|(x, y)| x.abs_diff(y) > 24)
    };
    a.pixels().zip(b.pixels()).filter(|pair| far(*pair)).count() as f32
        / (a.width() * a.height()) as f32
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let inputs = [photo(90, 60, ImageFormat::Png)];
    for inputs in [&inputs[..], &[]] {
        let request = DrawRequest {
            prompt: "a red fox in the snow",
            width: 160,
            height: 120,
            inputs,
            has_mask: false,
        };
        assert_eq!(
            draw(&request).expect("drawn").png,
            draw(&request).expect("drawn").png
        );
    }
}

/// Drawing uses only arithmetic that all machines round alike. If this fails on one machine only, the code calls a platform function.
/// If it fails everywhere, the images were changed on purpose.
#[test]
fn the_pixels_are_the_same_on_every_machine() {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for prompt in [
        "a red fox in the snow",
        "watercolor city at night",
        "portrait",
        "storm at sea",
    ] {
        hash.update(image(prompt, 150, 100, &[]).into_raw());
    }
    assert_eq!(
        hex::encode(hash.finalize()),
        "18aca0e414c2badeeb5426d5cf90f3609ef94c959d0a3f6d4c244208b7d4ddb7"
    );
}

#[test]
fn different_prompts_give_different_images() {
    let prompts = [
        "a red fox in the snow",
        "a red fox in the snow!",
        "a blue boat at sunset",
        "neon city at night",
        "qwzx",
        "qwzy",
    ];
    let images: Vec<RgbImage> = prompts.iter().map(|p| image(p, 128, 128, &[])).collect();
    for i in 0..images.len() {
        for j in 0..i {
            assert!(
                difference(&images[i], &images[j]) > 0.05,
                "{} and {}",
                prompts[i],
                prompts[j]
            );
        }
    }
}

#[test]
fn a_red_fox_in_snow_has_red_and_pale_pixels() {
    let image = image("a red fox in the snow", 256, 256, &[]);
    let red = image
        .pixels()
        .filter(|p| p.0[0] > 170 && p.0[1] < 120 && p.0[2] < 90)
        .count();
    let pale = image
        .pixels()
        .filter(|p| p.0.iter().all(|&v| v > 170))
        .count();
    assert!(red > 256 * 256 / 60, "{red} red pixels");
    assert!(pale > 256 * 256 / 10, "{pale} pale pixels");
}

#[test]
fn every_ratio_is_drawn_at_its_exact_size() {
    let small = [
        (24, 192),
        (48, 192),
        (64, 96),
        (96, 128),
        (102, 128),
        (128, 128),
        (128, 102),
        (128, 96),
        (96, 64),
        (171, 96),
        (224, 96),
        (192, 48),
        (192, 24),
    ];
    for (width, height) in small {
        for prompt in [
            "a fox and a castle by a lake at night",
            "city in the rain",
            "fish",
            "planet",
            "cup",
            "portrait",
            "abstract",
            "desert",
        ] {
            image(prompt, width, height, &[]);
        }
    }
    image("a whale in the storm", 384, 3072, &[]);
    image("a lighthouse at dawn", 1584, 672, &[]);
}

#[test]
fn the_smallest_and_thinnest_sizes_are_drawn() {
    let photo = [photo(40, 30, ImageFormat::Png)];
    for (width, height) in [(1, 1), (1, 700), (700, 1), (2, 3), (7, 300), (300, 7)] {
        for prompt in [
            "a watercolor fox in the snow",
            "woodcut city in the rain",
            "boat and lighthouse",
            "robot on a planet",
            "aurora over flowers",
        ] {
            image(prompt, width, height, &[]);
            image(prompt, width, height, &photo);
        }
    }
}

#[test]
fn sizes_without_pixels_or_beyond_the_limits_are_refused() {
    for (width, height) in [
        (0, 10),
        (10, 0),
        (MAX_SIDE + 1, 1),
        (16_000, 16_000),
        (u32::MAX, u32::MAX),
    ] {
        let error = draw(&DrawRequest {
            prompt: "x",
            width,
            height,
            inputs: &[],
            has_mask: false,
        })
        .expect_err("refused");
        assert!(
            error.to_string().contains(&format!("{width}x{height}")),
            "{error}"
        );
    }
}

#[test]
fn any_prompt_is_drawn() {
    let long = "a fox, ".repeat(32_768 / 7 + 1);
    let marks = "\u{301}\u{302}\u{20dd}".repeat(100);
    let prompts = [
        "",
        " ",
        "\0",
        "🦊❄️🌲",
        "שועל אדום בשלג",
        "ثعلب أحمر في الثلج",
        "雪の中の赤い狐",
        &marks,
        &long[..32_768],
        "\u{202e}reversed",
        "no no no without",
        "-----",
        "red",
        "orange",
    ];
    for prompt in prompts {
        let image = image(prompt, 96, 96, &[]);
        let first = image.get_pixel(0, 0);
        assert!(
            image
                .pixels()
                .any(|p| p.0.iter().zip(first.0).any(|(a, b)| a.abs_diff(b) > 40)),
            "{prompt:?} is not empty"
        );
    }
}

#[test]
fn every_subject_location_and_style_is_drawn() {
    let words = "fox wolf cat dog rabbit bear owl bird deer horse penguin butterfly fish whale jellyfish turtle person portrait robot \
        astronaut house castle lighthouse windmill bridge tent boat balloon rocket planet flower tree mushroom apple oranges lemon pear cup \
        vase candle book forest mountain hill sea lake river city field desert island beach underwater space room abstract dawn noon sunset \
        night snow rain fog storm spring summer autumn winter sun moon stars aurora rainbow clouds watercolor woodcut neon retro minimal \
        calm dramatic dreamy pastel dark warm cold vivid monochrome red";
    for word in words.split_whitespace() {
        assert!(lexicon::meaning(word).is_some(), "{word}");
        image(word, 72, 72, &[]);
        image(&format!("three {word} on a table by the sea"), 60, 90, &[]);
    }
}

#[test]
fn input_images_are_recognizable_in_the_result() {
    let plain = image("in the snow", 128, 96, &[]);
    let from_photo = image(
        "in the snow",
        128,
        96,
        &[photo(300, 225, ImageFormat::Jpeg)],
    );
    assert!(difference(&plain, &from_photo) > 0.3);
    // The photograph's bright disc and dark corner can be recognized.
    let light = |x: u32, y: u32| {
        from_photo
            .get_pixel(x, y)
            .0
            .iter()
            .map(|&v| u32::from(v))
            .sum::<u32>()
    };
    assert!(
        light(42, 32) > light(120, 8) + 120,
        "{} {}",
        light(42, 32),
        light(120, 8)
    );
}

#[test]
fn up_to_fourteen_inputs_of_all_formats_are_laid_out() {
    let formats = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::WebP,
        ImageFormat::Gif,
    ];
    let inputs: Vec<Bytes> = (0..14)
        .map(|i| photo(40 + i * 9, 30 + i * 5, formats[i as usize % 4]))
        .collect();
    let mut last: Option<RgbImage> = None;
    for count in [1, 2, 3, 4, 5, 7, 14] {
        let image = image("collage", 120, 90, &inputs[..count]);
        assert!(
            last.is_none_or(|last| difference(&last, &image) > 0.05),
            "{count}"
        );
        last = Some(image);
    }
}

#[test]
fn hostile_inputs_get_a_clear_error() {
    let good = photo(64, 64, ImageFormat::Png);
    let mut heic = b"\0\0\0\x18ftypheic".to_vec();
    heic.resize(200, 0);
    let mut avif = b"\0\0\0\x1cftypavif".to_vec();
    avif.resize(200, 0);
    let text = error(&[good.clone(), heic.into()]);
    assert_eq!(
        text,
        "input image 2 is HEIC, which the built-in generator cannot decode; send PNG, JPEG, WebP or GIF"
    );
    assert!(error(&[avif.into()]).contains("input image 1 is AVIF"));
    let truncated = good.slice(..good.len() / 2);
    for broken in [
        Bytes::new(),
        Bytes::from_static(b"GIF89a"),
        Bytes::from_static(b"nonsense, not an image"),
        truncated,
    ] {
        let text = error(&[broken]);
        assert!(text.contains("input image 1 cannot be read"), "{text}");
    }
    for side in [20_000u32, 60_000, u32::MAX / 2] {
        let text = error(&[bomb(side)]);
        assert!(
            text.contains("too large") || text.contains("cannot be read"),
            "{text}"
        );
    }
    assert!(error(&[bomb(16_000)]).contains("too large"));
    assert!(error(&[bomb(0)]).contains("cannot be read"));
}

/// A PNG that claims to be a huge square and has no pixels.
fn bomb(side: u32) -> Bytes {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(side.to_be_bytes());
    png.extend(side.to_be_bytes());
    png.extend([8, 2, 0, 0, 0]);
    let crc = crc32(&png[12..]);
    png.extend(crc.to_be_bytes());
    png.extend(b"\0\0\0\0IDAT");
    let crc = crc32(b"IDAT");
    png.extend(crc.to_be_bytes());
    png.into()
}

/// The check sum of PNG chunks (PNG specification, annex D).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}

#[test]
fn images_contain_the_generator_and_the_prompt_as_text() {
    let image = draw(&DrawRequest {
        prompt: "a red fox",
        width: 32,
        height: 32,
        inputs: &[],
        has_mask: false,
    })
    .expect("drawn");
    let reader = png::Decoder::new(Cursor::new(image.png))
        .read_info()
        .expect("a PNG");
    let text = |keyword: &str| {
        let chunk = reader
            .info()
            .utf8_text
            .iter()
            .find(|t| t.keyword == keyword)
            .expect("the chunk");
        chunk.get_text().expect("its text")
    };
    assert!(text("Software").contains("no AI model"));
    assert_eq!(text("Description"), "a red fox");
}

#[test]
fn a_mask_keeps_the_pixels_where_it_is_opaque() {
    let file = |image: image::DynamicImage| {
        let mut bytes = Cursor::new(Vec::new());
        image
            .write_to(&mut bytes, image::ImageFormat::Png)
            .expect("written");
        bytes::Bytes::from(bytes.into_inner())
    };
    let photo = image::RgbImage::from_fn(48, 32, |x, y| image::Rgb([x as u8 * 5, y as u8 * 7, 9]));
    let alpha = |x: u32| match x {
        0..16 => 0,
        16..32 => 255,
        _ => 128,
    };
    let mask = image::RgbaImage::from_fn(48, 32, |x, _| image::Rgba([1, 2, 3, alpha(x)]));
    let inputs = [file(photo.clone().into()), file(mask.into())];
    let drawn = |inputs: &[bytes::Bytes], has_mask| {
        let request = DrawRequest {
            prompt: "a red fox",
            width: 48,
            height: 32,
            inputs,
            has_mask,
        };
        draw(&request).map(|it| {
            image::load_from_memory(&it.png)
                .expect("an image")
                .into_rgb8()
        })
    };
    let image = drawn(&inputs, true).expect("drawn");
    for (x, y, pixel) in image.enumerate_pixels() {
        if (16..32).contains(&x) {
            assert_eq!(pixel, photo.get_pixel(x, y), "{x} {y}");
        }
    }
    let changed = |range: std::ops::Range<u32>| {
        let pixels = range.flat_map(|x| (0..32).map(move |y| (x, y)));
        pixels
            .filter(|(x, y)| image.get_pixel(*x, *y) != photo.get_pixel(*x, *y))
            .count()
    };
    assert!(changed(0..16) > 400 && changed(32..48) > 400);
    let opaque = [inputs[0].clone(), inputs[0].clone()];
    assert!(matches!(drawn(&opaque, true), Err(DrawError::Mask)));
    assert!(matches!(drawn(&inputs[..1], true), Err(DrawError::Mask)));
}
