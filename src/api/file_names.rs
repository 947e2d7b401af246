//! Names of files after the custom ids of requests.

use std::collections::HashSet;

/// Bytes of a name that the callers of any usual file system can have, with room for an extension.
const MAX_BYTES: usize = 200;

/// Gives each request a name of its own. The same requests in the same order always get the same names.
#[derive(Default)]
pub struct FileNames {
    /// In lower case: some file systems do not tell them apart otherwise.
    given: HashSet<String>,
}

impl FileNames {
    /// A name without extension for the request at this position.
    pub fn give(&mut self, custom_id: &str, position: usize) -> String {
        let name = sanitized(custom_id);
        if self.given.insert(name.to_lowercase()) {
            return name;
        }
        // Another custom id has come to the same name.
        let mut numbers = std::iter::successors(Some(position), |it| it.checked_add(1_000_000));
        let numbered = numbers
            .by_ref()
            .map(|number| format!("{name}-{number}"))
            .find(|name| self.given.insert(name.to_lowercase()));
        numbered.unwrap_or(name)
    }
}

/// Letters, digits and `._-` stay as they are. A name never begins with a point or a hyphen: it is no hidden file and no option.
fn sanitized(custom_id: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || ['.', '_', '-'].contains(c);
    let mut name = String::new();
    for c in custom_id.chars() {
        let c = if is_plain(&c) { c } else { '_' };
        if name.len() + c.len_utf8() > MAX_BYTES {
            break;
        }
        name.push(c);
    }
    match name.chars().next() {
        Some('.' | '-') => format!("_{name}"),
        Some(_) => name,
        None => "_".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_custom_ids_become_plain_names() {
        for (custom_id, name) in [
            ("sku-1.a_B", "sku-1.a_B"),
            ("Füchse", "Füchse"),
            ("../../etc/passwd", "_.._.._etc_passwd"),
            ("a/b\\c:d", "a_b_c_d"),
            (".hidden", "_.hidden"),
            ("-rf", "_-rf"),
            ("\u{0}\n\u{1b}[2J", "____2J"),
            ("", "_"),
        ] {
            assert_eq!(sanitized(custom_id), name, "{custom_id:?}");
        }
        assert!(sanitized(&"é".repeat(300)).len() <= MAX_BYTES);
    }

    #[test]
    fn names_that_come_to_the_same_are_told_apart() {
        let give = || {
            let mut names = FileNames::default();
            ["a/b", "a_b", "A_B", "a_b-1"]
                .iter()
                .enumerate()
                .map(|(at, it)| names.give(it, at))
                .collect::<Vec<_>>()
        };
        assert_eq!(give(), ["a_b", "a_b-1", "A_B-2", "a_b-1-3"]);
        assert_eq!(give(), give());
    }
}
