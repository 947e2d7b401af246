//! A large PNG, made small row by row: a picture of 16 bits per channel would take half a gigabyte as a whole.

use image::metadata::Orientation;
use image::{DynamicImage, RgbaImage};
use png::{Decoder, DecodingError, Reader, Transformations};
use std::io::Cursor;

/// Decodes a PNG and averages squares of its pixels, so that its long side stays at or above `side` and below twice that. `None` for
/// one that is not so large, or whose rows do not come in order.
///
/// # Errors
/// It is damaged.
pub fn shrunk(
    bytes: &[u8],
    side: u32,
) -> Result<Option<(DynamicImage, Orientation)>, DecodingError> {
    let mut decoder = Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8());
    // Neither is used, and a packed text may unpack into any length.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info()?;
    let info = reader.info();
    let factor = info.width.max(info.height) / side;
    if factor < 2 || info.interlaced {
        return Ok(None);
    }
    let exif = info.exif_metadata.as_deref();
    let orientation = exif.and_then(Orientation::from_exif_chunk);
    let mut squares = Squares::new(info.width, info.height, factor);
    squares.read(&mut reader)?;
    let orientation = orientation.unwrap_or(Orientation::NoTransforms);
    Ok(Some((squares.finish(), orientation)))
}

/// Sums over squares of pixels.
struct Squares {
    factor: u32,
    width: u32,
    height: u32,
    /// Red, green and blue, each times its opacity, and the opacity, of the squares of the row at hand.
    sums: Vec<[u64; 4]>,
    /// Rows that they hold.
    rows: u32,
    done: Vec<u8>,
}

impl Squares {
    /// A narrow picture keeps at least one pixel.
    fn new(width: u32, height: u32, factor: u32) -> Self {
        let (width, height) = ((width / factor).max(1), (height / factor).max(1));
        Self {
            factor,
            width,
            height,
            sums: vec![[0; 4]; width as usize],
            rows: 0,
            done: Vec::with_capacity(width as usize * height as usize * 4),
        }
    }

    fn read(&mut self, reader: &mut Reader<Cursor<&[u8]>>) -> Result<(), DecodingError> {
        let channels = reader.output_color_type().0.samples();
        while let Some(row) = reader.next_row()? {
            self.add(row.data(), channels);
            if self.rows == self.factor {
                self.end_row();
            }
        }
        // Fewer rows than one square has.
        if self.done.is_empty() {
            self.end_row();
        }
        Ok(())
    }

    fn add(&mut self, row: &[u8], channels: usize) {
        self.rows += 1;
        let factor = self.factor as usize;
        for (at, pixel) in row.chunks_exact(channels).enumerate() {
            let Some(sum) = self.sums.get_mut(at / factor) else {
                return;
            };
            let (colour, opacity) = match *pixel {
                [grey] => ([grey; 3], 255),
                [grey, opacity] => ([grey; 3], opacity),
                [r, g, b] => ([r, g, b], 255),
                [r, g, b, opacity] => ([r, g, b], opacity),
                _ => return,
            };
            for (sum, value) in sum.iter_mut().zip(colour) {
                *sum += u64::from(value) * u64::from(opacity);
            }
            sum[3] += u64::from(opacity);
        }
    }

    fn end_row(&mut self) {
        let pixels = u64::from(self.factor) * u64::from(std::mem::take(&mut self.rows).max(1));
        for sum in &mut self.sums {
            let [r, g, b, opacity] = std::mem::take(sum);
            let colour = [r, g, b].map(|it| it.checked_div(opacity).unwrap_or(0) as u8);
            self.done.extend(colour);
            self.done.push((opacity / pixels).min(255) as u8);
        }
    }

    fn finish(mut self) -> DynamicImage {
        let bytes = self.width as usize * self.height as usize * 4;
        self.done.resize(bytes, 0);
        let image = RgbaImage::from_raw(self.width, self.height, self.done);
        DynamicImage::ImageRgba8(image.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u16; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Sixteen);
        let mut data = Vec::new();
        for y in 0..height {
            for x in 0..width {
                data.extend(pixel(x, y).iter().flat_map(|it| it.to_be_bytes()));
            }
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&data).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn squares_are_averaged_by_their_opacity() {
        let full = u16::MAX;
        // The left half is red beside what cannot be seen, the right half is white.
        let bytes = png(8, 4, |x, y| match (x < 4, (x + y) % 2) {
            (true, 0) => [full, 0, 0, full],
            (true, _) => [0, full, 0, 0],
            (false, _) => [full; 4],
        });
        let (image, _) = shrunk(&bytes, 4).unwrap().unwrap();
        let image = image.to_rgba8();
        assert_eq!(image.dimensions(), (4, 2));
        assert_eq!(image.get_pixel(0, 0).0, [255, 0, 0, 127]);
        assert_eq!(image.get_pixel(3, 1).0, [255; 4]);
    }

    #[test]
    fn a_picture_that_is_not_large_stays_as_it_is_and_a_strip_keeps_a_pixel() {
        let white = |_, _| [u16::MAX; 4];
        assert!(shrunk(&png(7, 3, white), 4).unwrap().is_none());
        let (strip, _) = shrunk(&png(64, 1, white), 4).unwrap().unwrap();
        assert_eq!((strip.width(), strip.height()), (4, 1));
        assert_eq!(strip.to_rgba8().get_pixel(0, 0).0, [255; 4]);
        let damaged = &png(64, 64, white)[..100];
        assert!(shrunk(damaged, 4).is_err());
    }
}
