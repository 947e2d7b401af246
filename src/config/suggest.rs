//! "Did you mean": the known word that a mistyped one stands nearest to.

/// Words longer than this are no slip of the finger, and comparing them would cost time.
const MAX_CHARS: usize = 48;

/// The candidate that `word` most likely stands for, if any is near: the same but for case, `-` and `_`, or within
/// two slips (one for words of 3 to 5 letters, none for shorter ones).
pub(super) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > MAX_CHARS {
        return None;
    }
    let wanted = plain(word);
    candidates
        .into_iter()
        .map(|candidate| {
            let slips = strsim::damerau_levenshtein(&wanted, &plain(candidate));
            (slips, candidate)
        })
        .filter(|(slips, candidate)| *slips <= (candidate.len() / 3).min(2))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Whether two words differ only in case and in `-` for `_`, as names in the environment must.
pub(super) fn same_but_for_spelling(a: &str, b: &str) -> bool {
    plain(a) == plain(b)
}

fn plain(word: &str) -> String {
    word.to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        let keys = ["listen", "public_url", "workers"];
        assert_eq!(nearest("lisen", keys), Some("listen"));
        assert_eq!(nearest("listne", keys), Some("listen"));
        assert_eq!(nearest("PUBLIC-URL", keys), Some("public_url"));
        assert_eq!(nearest("threads", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("z", ["g"]), None);
        assert_eq!(nearest("lg", ["log"]), Some("log"));
        assert_eq!(nearest(&"listen".repeat(1000), keys), None);
    }
}
