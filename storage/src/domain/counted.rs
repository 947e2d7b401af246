//! Counts with their noun, for messages.

use std::fmt::Display;

/// `1 job`, `3 jobs`, `2 entries`, `4 batches`: the noun is in the singular.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    let is_vowel = |letter: char| "aeiou".contains(letter);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{count} {stem}ies"),
        _ if noun.ends_with("ch") || noun.ends_with('s') => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let cases = [
            (counted(0_usize, "image"), "0 images"),
            (counted(1_u64, "image"), "1 image"),
            (counted(2_u32, "image"), "2 images"),
            (counted(2_u64, "ledger entry"), "2 ledger entries"),
            (counted(1_u64, "delivery"), "1 delivery"),
            (counted(2_u64, "key"), "2 keys"),
            (counted(2_u64, "batch"), "2 batches"),
            (counted(2_u64, "address"), "2 addresses"),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
    }
}
