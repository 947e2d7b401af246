//! The header of an image: the result does not depend on how the bytes are split, and a decoder accepts each valid header.

use tintype_imaging::decoding::MAX_PIXELS;
use tintype_imaging::{HeaderFault, HeaderReader, ImageKind, MAX_SIDE, SNIFFED_BYTES, Size};

pub fn run(input: &[u8]) {
    let first = &input[..input.len().min(SNIFFED_BYTES)];
    let Some(kind) = ImageKind::from_bytes(first) else {
        return;
    };
    assert_eq!(ImageKind::from_bytes(input), Some(kind));
    let whole = measure(kind, input, usize::MAX);
    for piece in [1, 3, 64] {
        assert_eq!(measure(kind, input, piece), whole, "in pieces of {piece}");
    }
    if let Ok(size) = whole
        && let Ok(size) = size.check(MAX_PIXELS)
    {
        let sides = 1..=MAX_SIDE;
        assert!(sides.contains(&size.width) && sides.contains(&size.height));
        assert!(u64::from(size.width) * u64::from(size.height) <= MAX_PIXELS);
    }
}

fn measure(kind: ImageKind, input: &[u8], piece: usize) -> Result<Size, HeaderFault> {
    let mut header = HeaderReader::new(kind);
    for piece in input.chunks(piece) {
        header.push(piece)?;
    }
    header.finish()
}
