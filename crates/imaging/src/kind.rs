//! Recognizes image formats by their first bytes.

use image::ImageFormat;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// With animated PNG.
    Png,
    Jpeg,
    WebP,
    Gif,
    Heic,
    Avif,
}

/// The number of bytes that [`ImageKind::from_bytes`] uses at most.
pub const SNIFFED_BYTES: usize = 512;

impl ImageKind {
    /// Recognizes a format from the first [`SNIFFED_BYTES`] bytes of a file.
    pub fn from_bytes(first: &[u8]) -> Option<Self> {
        match first {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            _ if first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP") => {
                Some(Self::WebP)
            }
            [a, b, c, d, b'f', b't', b'y', b'p', brands @ ..] => {
                let size = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
                let brands = &brands[..brands.len().min(size.saturating_sub(8))];
                from_brands(brands)
            }
            _ => None,
        }
    }

    /// The format for the decoder. HEIC and AVIF have none: their decoders have another licence or language.
    pub fn decodable(self) -> Option<ImageFormat> {
        match self {
            Self::Png => Some(ImageFormat::Png),
            Self::Jpeg => Some(ImageFormat::Jpeg),
            Self::WebP => Some(ImageFormat::WebP),
            Self::Gif => Some(ImageFormat::Gif),
            Self::Heic | Self::Avif => None,
        }
    }

    pub fn mime(self) -> &'static str {
        self.names().0
    }

    /// The file name extension, without a dot.
    pub fn extension(self) -> &'static str {
        self.names().1
    }

    /// The display name.
    pub fn name(self) -> &'static str {
        self.names().2
    }

    /// The media type, the extension and the display name.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Png => ("image/png", "png", "PNG"),
            Self::Jpeg => ("image/jpeg", "jpg", "JPEG"),
            Self::WebP => ("image/webp", "webp", "WebP"),
            Self::Gif => ("image/gif", "gif", "GIF"),
            Self::Heic => ("image/heic", "heic", "HEIC"),
            Self::Avif => ("image/avif", "avif", "AVIF"),
        }
    }
}

/// Recognizes the brands of an ISO base media file (ISO/IEC 14496-12 section 4.3): the major brand and, after its version, the
/// compatible ones. Ignores the general brands `mif1` and `msf1`, which do not define the coding.
fn from_brands(brands: &[u8]) -> Option<ImageKind> {
    let (major, rest) = brands.split_first_chunk::<4>()?;
    let compatible = rest.get(4..).unwrap_or_default();
    std::iter::once(major.as_slice())
        .chain(compatible.chunks_exact(4))
        .find_map(|brand| match brand {
            b"avif" | b"avis" => Some(ImageKind::Avif),
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"hevm" | b"hevs" => {
                Some(ImageKind::Heic)
            }
            _ => None,
        })
}
