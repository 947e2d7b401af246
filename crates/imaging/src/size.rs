//! How large an image may be.

/// Longest side that is decoded: the longest of the published sizes has 12,288.
pub const MAX_SIDE: u32 = 16_384;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Why a size is not taken. The texts complete a sentence that begins with the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeFault {
    /// A side of 0.
    #[error("has no pixels: its header says {width} x {height}")]
    Empty {
        /// As the header says.
        width: u32,
        /// As the header says.
        height: u32,
    },
    /// Over [`MAX_SIDE`] or the most pixels that are allowed.
    #[error(
        "is too large: {width} x {height} pixels, where a side may have {MAX_SIDE} and the whole {max_pixels}"
    )]
    TooLarge {
        /// As the header says.
        width: u32,
        /// As the header says.
        height: u32,
        /// What is allowed.
        max_pixels: u64,
    },
}

impl Size {
    /// Passes sizes within [`MAX_SIDE`] and `max_pixels`.
    ///
    /// # Errors
    /// See [`SizeFault`].
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
