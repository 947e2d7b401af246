//! The size of an image, and its limits.

/// The longest side that is decoded. The longest published size has 12,288.
pub const MAX_SIDE: u32 = 16_384;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub width: u32,
    pub height: u32,
}

/// Why a size is refused. The texts complete a sentence that begins with the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeFault {
    /// A side of 0.
    #[error("has no pixels: its header says {width} x {height}")]
    Empty { width: u32, height: u32 },
    /// Above [`MAX_SIDE`] or `max_pixels`.
    #[error(
        "is too large: {width} x {height} pixels, where a side may have {MAX_SIDE} and the whole {max_pixels}"
    )]
    TooLarge {
        width: u32,
        height: u32,
        max_pixels: u64,
    },
}

impl Size {
    pub fn check(self, max_pixels: u64) -> Result<Self, SizeFault> {
        let Self { width, height } = self;
        if width == 0 || height == 0 {
            return Err(SizeFault::Empty { width, height });
        }
        if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > max_pixels {
            return Err(SizeFault::TooLarge {
                width,
                height,
                max_pixels,
            });
        }
        Ok(self)
    }
}
