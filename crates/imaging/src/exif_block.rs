//! A minimal Exif block (CIPA DC-008): one text.

/// `Software`: the program that made the image.
const SOFTWARE: u16 = 0x0131;
/// The type of a text that ends with NUL.
const ASCII: u16 = 2;
/// The text follows the header of 8 bytes and a directory with one entry.
const TEXT_OFFSET: u32 = 8 + 2 + 12 + 4;

/// An Exif block that names the program that made the image. `program` must be ASCII.
pub(crate) fn software(program: &str) -> Vec<u8> {
    let length = u32::try_from(program.len() + 1).unwrap_or(u32::MAX);
    [
        // Big-endian; the directory follows at once.
        b"MM\0\x2a\0\0\0\x08",
        &1u16.to_be_bytes()[..],
        &SOFTWARE.to_be_bytes(),
        &ASCII.to_be_bytes(),
        &length.to_be_bytes(),
        &TEXT_OFFSET.to_be_bytes(),
        // No other directory.
        &0u32.to_be_bytes(),
        program.as_bytes(),
        b"\0",
    ]
    .concat()
}
