//! Decoded pixels of 8 bits per channel, with an orientation that the encoder applies, so that no second copy of a large image is
//! needed.

use super::shrink::{Shrink, Shrunk};
use bytes::Bytes;
use image::metadata::Orientation;
use image::{DynamicImage, Rgb, RgbImage, Rgba, RgbaImage};

/// A part of an image, in pixels from the top left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

/// Pixels as they are stored in a file.
pub(crate) enum Image8 {
    Rgb(RgbImage),
    Rgba(RgbaImage),
}

/// The pixels of an image. Width, height and parts refer to the upright image.
pub struct Pixels {
    image: Image8,
    orientation: Orientation,
    /// An ICC profile of RGB.
    profile: Option<Bytes>,
}

impl From<DynamicImage> for Image8 {
    fn from(image: DynamicImage) -> Self {
        match image.color().has_alpha() {
            true => Self::Rgba(image.into_rgba8()),
            false => Self::Rgb(image.into_rgb8()),
        }
    }
}

impl Image8 {
    pub fn from_raw(shrunk: Shrunk) -> Self {
        let Shrunk {
            width,
            height,
            channels,
            bytes,
        } = shrunk;
        // The lengths agree by construction. The encoder would refuse an empty image.
        match channels {
            4 => Self::Rgba(RgbaImage::from_raw(width, height, bytes).unwrap_or_default()),
            _ => Self::Rgb(RgbImage::from_raw(width, height, bytes).unwrap_or_default()),
        }
    }

    pub fn as_raw(&self) -> &[u8] {
        match self {
            Self::Rgb(image) => image.as_raw(),
            Self::Rgba(image) => image.as_raw(),
        }
    }

    pub fn channels(&self) -> usize {
        match self {
            Self::Rgb(_) => 3,
            Self::Rgba(_) => 4,
        }
    }

    pub fn dimensions(&self) -> (u32, u32) {
        match self {
            Self::Rgb(image) => image.dimensions(),
            Self::Rgba(image) => image.dimensions(),
        }
    }

    pub fn shrunk(&self, longest: u32) -> Self {
        let (width, height) = self.dimensions();
        let mut shrink = Shrink::new((width, height), longest, self.channels());
        self.as_raw()
            .chunks_exact((width as usize * self.channels()).max(1))
            .for_each(|row| shrink.push(row));
        Self::from_raw(shrink.finish())
    }
}

impl Pixels {
    pub(crate) fn new(image: Image8, orientation: Orientation, profile: Option<Bytes>) -> Self {
        Self {
            image,
            orientation,
            profile,
        }
    }

    /// Without a colour profile.
    pub fn upright(image: DynamicImage) -> Self {
        Self::new(image.into(), Orientation::NoTransforms, None)
    }

    /// Changes the stored pixels into upright ones, and keeps the colour profile.
    pub fn map(mut self, change: impl FnOnce(DynamicImage) -> DynamicImage) -> Self {
        let profile = self.profile.take();
        let image = change(self.into_stored());
        Self::new(image.into(), Orientation::NoTransforms, profile)
    }

    pub fn width(&self) -> u32 {
        upright(self.image.dimensions(), self.orientation).0
    }

    pub fn height(&self) -> u32 {
        upright(self.image.dimensions(), self.orientation).1
    }

    pub fn has_alpha(&self) -> bool {
        matches!(self.image, Image8::Rgba(_))
    }

    /// Without transparency, on white. Needs no second copy of the pixels.
    pub fn on_white(self) -> Self {
        let Image8::Rgba(image) = self.image else {
            return self;
        };
        let (width, height) = image.dimensions();
        let mut bytes = image.into_raw();
        let count = bytes.len() / 4;
        for at in 0..count {
            let [red, green, blue, alpha] = [0, 1, 2, 3].map(|channel| bytes[at * 4 + channel]);
            let Rgb(colour) = on_white(Rgba([red, green, blue, alpha]));
            bytes[at * 3..at * 3 + 3].copy_from_slice(&colour);
        }
        bytes.truncate(count * 3);
        let image = Image8::from_raw(Shrunk {
            width,
            height,
            channels: 3,
            bytes,
        });
        Self::new(image, self.orientation, self.profile)
    }

    pub fn whole(&self) -> Rect {
        Rect {
            x: 0,
            y: 0,
            width: self.width(),
            height: self.height(),
        }
    }

    /// A smaller copy in which no side is longer than `longest`.
    pub fn shrunk(&self, longest: u32) -> Self {
        let image = self.image.shrunk(longest);
        Self::new(image, self.orientation, self.profile.clone())
    }

    /// The pixels without their orientation applied.
    pub fn into_stored(self) -> DynamicImage {
        match self.image {
            Image8::Rgb(image) => DynamicImage::ImageRgb8(image),
            Image8::Rgba(image) => DynamicImage::ImageRgba8(image),
        }
    }

    pub(crate) fn image(&self) -> &Image8 {
        &self.image
    }

    pub(crate) fn profile(&self) -> Option<&[u8]> {
        self.profile.as_deref()
    }

    /// Maps a position in the upright image to the stored one.
    pub(crate) fn stored(&self, x: u32, y: u32) -> (u32, u32) {
        let (width, height) = self.image.dimensions();
        let (right, bottom) = (width - 1, height - 1);
        match self.orientation {
            Orientation::NoTransforms => (x, y),
            Orientation::Rotate90 => (y, bottom - x),
            Orientation::Rotate180 => (right - x, bottom - y),
            Orientation::Rotate270 => (right - y, x),
            Orientation::FlipHorizontal => (right - x, y),
            Orientation::FlipVertical => (x, bottom - y),
            Orientation::Rotate90FlipH => (y, x),
            Orientation::Rotate270FlipH => (right - y, bottom - x),
        }
    }
}

/// Width and height after the orientation is applied.
pub fn upright((width, height): (u32, u32), orientation: Orientation) -> (u32, u32) {
    match orientation {
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => (width, height),
        _ => (height, width),
    }
}

pub(crate) fn on_white(Rgba([red, green, blue, alpha]): Rgba<u8>) -> Rgb<u8> {
    let alpha = u32::from(alpha);
    let blend = |colour: u8| ((u32::from(colour) * alpha + 255 * (255 - alpha) + 127) / 255) as u8;
    Rgb([red, green, blue].map(blend))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    #[test]
    fn every_orientation_maps_positions_like_a_rotation() {
        let image = RgbImage::from_fn(5, 3, |x, y| Rgb([x as u8, y as u8, 7]));
        for exif in 1..=8 {
            let orientation = Orientation::from_exif(exif).expect("an orientation");
            let mut turned = DynamicImage::from(image.clone());
            turned.apply_orientation(orientation);
            let turned = turned.into_rgb8();
            let pixels = Pixels::new(Image8::Rgb(image.clone()), orientation, None);
            assert_eq!((pixels.width(), pixels.height()), turned.dimensions());
            for (x, y, pixel) in turned.enumerate_pixels() {
                let (from_x, from_y) = pixels.stored(x, y);
                assert_eq!(image.get_pixel(from_x, from_y), pixel, "{exif}: {x} {y}");
            }
        }
    }
}
