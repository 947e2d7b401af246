//! File names from the custom ids of requests.

use std::collections::HashSet;

/// Fits every common file system, with room for an extension.
const MAX_BYTES: usize = 200;

/// Assigns each request a unique name. The same requests in the same order always get the same names.
#[derive(Default)]
pub struct FileNames {
    /// Lowercase, because some file systems ignore case.
    used: HashSet<String>,
}

impl FileNames {
    /// Returns a name without an extension for the request at this position.
    pub fn assign(&mut self, custom_id: &str, position: usize) -> String {
        let name = sanitize(custom_id);
        if self.used.insert(name.to_lowercase()) {
            return name;
        }
        // Another custom id already has this name.
        let mut numbers = std::iter::successors(Some(position), |it| it.checked_add(1_000_000));
        let numbered = numbers
            .by_ref()
            .map(|number| format!("{name}-{number}"))
            .find(|name| self.used.insert(name.to_lowercase()));
        numbered.unwrap_or(name)
    }
}

/// Keeps letters, digits and `._-`. A name never begins with a dot (hidden file) or a hyphen (option).
fn sanitize(custom_id: &str) -> String {
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
            assert_eq!(sanitize(custom_id), name, "{custom_id:?}");
        }
        assert!(sanitize(&"é".repeat(300)).len() <= MAX_BYTES);
    }

    #[test]
    fn equal_names_get_a_number() {
        let assign = || {
            let mut names = FileNames::default();
            ["a/b", "a_b", "A_B", "a_b-1"]
                .iter()
                .enumerate()
                .map(|(at, it)| names.assign(it, at))
                .collect::<Vec<_>>()
        };
        assert_eq!(assign(), ["a_b", "a_b-1", "A_B-2", "a_b-1-3"]);
        assert_eq!(assign(), assign());
    }
}
