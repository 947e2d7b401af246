//! Rules for texts that people compare by eye: names, references and reasons.
//!
//! A text may not look like another one, or like none. So it has a visible character, and no character that is invisible or changes
//! the direction of the text. The text is refused rather than changed, because a caller expects to read back what it sent.

/// Invisible characters besides control characters, as ranges: soft hyphen, fillers, zero-width spaces, direction marks and
/// overrides, invisible operators, separators, and tags.
const INVISIBLE: [(char, char); 15] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200b}'),
    ('\u{200e}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{e0000}', '\u{e0fff}'),
];
/// Joiners, which emoji, Persian and Indic scripts need between two characters.
const JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];

/// # Errors
/// What is wrong with the text, as a predicate of its field.
pub fn check(text: &str) -> Result<(), String> {
    let mut before = None;
    let mut characters = text.chars().peekable();
    let mut position = 0;
    while let Some(character) = characters.next() {
        position += 1;
        let joins = |it: Option<char>| it.is_some_and(|it| !it.is_ascii() && !it.is_whitespace());
        let is_joining = joins(before) && joins(characters.peek().copied());
        let is_stray_joiner = JOINERS.contains(&character) && !is_joining;
        if is_stray_joiner || is_invisible(character) {
            return Err(format!(
                "must not contain control characters or invisible characters; remove U+{:04X}, which is character {position}",
                u32::from(character)
            ));
        }
        before = Some(character);
    }
    match text.chars().any(is_visible) {
        true => Ok(()),
        false => Err("must contain a visible character, not only spaces".to_owned()),
    }
}

/// Is it a control character, or one that is invisible or changes the direction of the text?
pub fn is_invisible(character: char) -> bool {
    let is_in = |(first, last): &(char, char)| (*first..=*last).contains(&character);
    character.is_control() || INVISIBLE.iter().any(is_in)
}

/// The braille blank is the one visible character without ink. Variation selectors only change the character before them.
fn is_visible(character: char) -> bool {
    let is_selector = ('\u{fe00}'..='\u{fe0f}').contains(&character);
    !character.is_whitespace() && character != '\u{2800}' && !is_selector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_are_accepted_as_they_are() {
        for name in [
            "default",
            " Ädelweiß & Co ",
            "日本語 写真",
            "שלום",
            "می\u{200c}خواهم",
            "👨\u{200d}👩\u{200d}👧 studio",
            "♥\u{fe0f}",
            "a\u{a0}b",
        ] {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn a_text_without_a_visible_character_is_refused() {
        for text in ["", " ", "\u{a0}\u{3000}", "\u{2800}", "\u{fe0f}"] {
            let error = check(text).unwrap_err();
            assert!(error.contains("visible character"), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_invisible_character_is_named_with_its_position() {
        for (text, found) in [
            ("\u{200b}", "U+200B, which is character 1"),
            ("ab\u{202e}c", "U+202E, which is character 3"),
            ("a\n", "U+000A, which is character 2"),
            ("ad\u{200d}min", "U+200D, which is character 3"),
            ("é\u{200d}", "U+200D, which is character 2"),
            ("a\u{2066}", "U+2066, which is character 2"),
            ("\u{feff}a", "U+FEFF, which is character 1"),
            ("a\u{3164}", "U+3164, which is character 2"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(found), "{text:?}: {error}");
        }
    }
}
