//! "Did you mean": finds the known word nearest to a wrong_type one.

/// Longer words are not typos, and comparing them would take time.
const MAX_CHARS: usize = 48;

/// Returns the candidate nearest to `word`: equal but for case, `-` and `_`, or within two typos (one for candidates of 3 to 5
/// letters, none for shorter ones).
pub(super) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > MAX_CHARS {
        return None;
    }
    let word = normalize(word);
    candidates
        .into_iter()
        .map(|candidate| {
            let typos = strsim::damerau_levenshtein(&word, &normalize(candidate));
            (typos, candidate)
        })
        .filter(|(typos, candidate)| *typos <= (candidate.len() / 3).min(2))
        .min_by_key(|(typos, _)| *typos)
        .map(|(_, candidate)| candidate)
}

/// Do two words differ only in case and in `-` for `_`?
pub(super) fn is_same_key(a: &str, b: &str) -> bool {
    normalize(a) == normalize(b)
}

fn normalize(word: &str) -> String {
    word.to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_an_unrelated_word_finds_none() {
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
