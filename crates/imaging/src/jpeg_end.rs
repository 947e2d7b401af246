//! Does a JPEG end? Decoders paint what is missing grey and say nothing.

/// Start of scan: coded pixels follow.
const SCAN: u8 = 0xda;
/// End of image.
const END: [u8; 2] = [0xff, 0xd9];

/// Is there an end behind the coded pixels? One within a segment, such as that of a thumbnail, does not count.
pub fn is_there(jpeg: &[u8]) -> bool {
    let mut rest = jpeg.get(2..).unwrap_or_default();
    while let [0xff, marker, high, low, ..] = rest {
        if *marker == SCAN {
            return rest.windows(2).any(|pair| pair == END);
        }
        // Any number of 0xff may stand before a marker.
        let skipped = match marker {
            0xff => 1,
            _ => 2 + usize::from(u16::from_be_bytes([*high, *low])),
        };
        rest = rest.get(skipped..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_counts_behind_the_scan_alone() {
        let start = [0xff, 0xd8];
        let thumbnail = [0xff, 0xe1, 0, 6, 0xff, 0xd9, 0, 0];
        let scan = [0xff, 0xff, 0xda, 0, 2, 1, 2, 3];
        let whole = [&start[..], &thumbnail, &scan, &END].concat();
        assert!(is_there(&whole));
        assert!(is_there(&[&whole[..], b"more"].concat()));
        assert!(!is_there(&whole[..whole.len() - 1]));
        assert!(!is_there(&[&start[..], &thumbnail].concat()));
        for bad in [&b""[..], &start, &[0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff, 1]] {
            assert!(!is_there(bad));
        }
    }
}
