//! The segments of a JPEG file.

/// Start of scan: coded pixels follow.
const SCAN: [u8; 2] = [0xff, 0xda];
/// End of image.
const END: [u8; 2] = [0xff, 0xd9];

/// Is there an end marker after the coded pixels? Decoders silently fill the missing part of a truncated JPEG with grey. A marker in a
/// segment, such as that of a thumbnail, does not count.
pub fn has_end(jpeg: &[u8]) -> bool {
    let mut rest = jpeg.get(2..).unwrap_or_default();
    while let Some((_, after)) = split_segment(rest) {
        rest = after;
    }
    rest.starts_with(&SCAN) && rest.windows(2).any(|pair| pair == END)
}

/// Splits off the first segment. `None` if coded pixels follow, or something that is no segment.
pub(crate) fn split_segment(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let [0xff, marker, high, low, ..] = rest else {
        return None;
    };
    if rest.starts_with(&SCAN) {
        return None;
    }
    // Any number of 0xff may precede a marker.
    let length = match marker {
        0xff => 1,
        _ => 2 + usize::from(u16::from_be_bytes([*high, *low])),
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_marker_counts_only_after_the_scan() {
        let start = [0xff, 0xd8];
        let thumbnail = [0xff, 0xe1, 0, 6, 0xff, 0xd9, 0, 0];
        let scan = [0xff, 0xff, 0xda, 0, 2, 1, 2, 3];
        let whole = [&start[..], &thumbnail, &scan, &END].concat();
        assert!(has_end(&whole));
        assert!(has_end(&[&whole[..], b"more"].concat()));
        assert!(!has_end(&whole[..whole.len() - 1]));
        assert!(!has_end(&[&start[..], &thumbnail].concat()));
        for bad in [&b""[..], &start, &[0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff, 1]] {
            assert!(!has_end(bad));
        }
    }
}
