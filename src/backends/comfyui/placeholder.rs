//! Placeholders in a workflow: `{{prompt}}`, `{{seed}}` and so on, anywhere in a string value.

use serde_json::Value;
use std::fmt;
use tintype_storage::domain::request::MAX_INPUTS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placeholder {
    Prompt,
    /// Differs from job to job, because ComfyUI does not run the same graph twice.
    Seed,
    /// Requested from the model; a multiple of 16.
    Width,
    /// Requested from the model; a multiple of 16.
    Height,
    /// Of the finished image, for workflows that upscale.
    FinalWidth,
    FinalHeight,
    Checkpoint,
    FilenamePrefix,
    /// An input image; the first has number 1.
    Image(usize),
}

const PLAIN: [(&str, Placeholder); 8] = [
    ("prompt", Placeholder::Prompt),
    ("seed", Placeholder::Seed),
    ("width", Placeholder::Width),
    ("height", Placeholder::Height),
    ("final_width", Placeholder::FinalWidth),
    ("final_height", Placeholder::FinalHeight),
    ("checkpoint", Placeholder::Checkpoint),
    ("filename_prefix", Placeholder::FilenamePrefix),
];

impl Placeholder {
    pub fn named(name: &str) -> Option<Self> {
        let plain = PLAIN.iter().find(|(it, _)| *it == name);
        plain.map(|(_, it)| *it).or_else(|| {
            let number: usize = name.strip_prefix("image_")?.parse().ok()?;
            let known = (1..=MAX_INPUTS).contains(&number);
            let placeholder = Self::Image(number);
            // Only the canonical form is valid: `image_01` is a typo.
            (known && placeholder.to_string() == format!("{{{{{name}}}}}")).then_some(placeholder)
        })
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(number) => write!(f, "{{{{image_{number}}}}}"),
            plain => {
                let name = PLAIN.iter().find(|(_, it)| it == plain);
                write!(f, "{{{{{}}}}}", name.map_or("", |(name, _)| name))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    Text(&'t str),
    /// The name between double braces.
    Name(&'t str),
}

/// Splits a string. Double braces around anything but a name are text, because other programs use double braces too.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(open) = text[at..].find("{{").map(|found| at + found) {
        let name = text[open + 2..].split_once("}}").map(|(name, _)| name);
        match name.filter(|name| is_name(name)) {
            Some(name) => {
                if plain < open {
                    pieces.push(Piece::Text(&text[plain..open]));
                }
                pieces.push(Piece::Name(name));
                at = open + name.len() + 4;
                plain = at;
            }
            None => at = open + 1,
        }
    }
    if plain < text.len() || pieces.is_empty() {
        pieces.push(Piece::Text(&text[plain..]));
    }
    pieces
}

fn is_name(text: &str) -> bool {
    let named = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    !text.is_empty() && text.bytes().all(named)
}

/// Replaces the placeholders in the strings of `value`. A string that consists of one placeholder takes the type of the new value.
pub fn fill(value: &mut Value, of: &dyn Fn(Placeholder) -> Value) {
    match value {
        Value::String(text) => {
            let filled = match pieces(text)[..] {
                [Piece::Text(_)] => return,
                [Piece::Name(name)] => Placeholder::named(name).map(of),
                ref pieces => Some(Value::String(
                    pieces.iter().map(|it| to_text(*it, of)).collect(),
                )),
            };
            if let Some(filled) = filled {
                *value = filled;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| fill(value, of)),
        Value::Object(map) => map.values_mut().for_each(|value| fill(value, of)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn to_text(piece: Piece<'_>, of: &dyn Fn(Placeholder) -> Value) -> String {
    match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Name(name) => match Placeholder::named(name).map(of) {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => format!("{{{{{name}}}}}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_round_trip_and_nothing_else_is_a_name() {
        let numbered = (1..=MAX_INPUTS).map(Placeholder::Image);
        for placeholder in PLAIN.iter().map(|(_, it)| *it).chain(numbered) {
            let text = placeholder.to_string();
            let name = text.trim_matches(['{', '}']);
            assert_eq!(Placeholder::named(name), Some(placeholder));
        }
        for bad in [
            "", "Prompt", "image_0", "image_15", "image_01", "image_", "image",
        ] {
            assert_eq!(Placeholder::named(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_names_between_double_braces_are_placeholders() {
        use Piece::{Name, Text};
        assert_eq!(pieces("{{a}}"), [Name("a")]);
        assert_eq!(
            pieces("x {{a}}{{b}} y"),
            [Text("x "), Name("a"), Name("b"), Text(" y")]
        );
        assert_eq!(pieces("{{{a}}}"), [Text("{"), Name("a"), Text("}")]);
        for text in [
            "",
            "plain",
            "{a}",
            "{{}}",
            "{{a|b}}",
            "{{ a }}",
            "{{a",
            "{{A}}",
            "{{\u{e9}}}",
        ] {
            assert_eq!(pieces(text), [Text(text)]);
        }
    }

    #[test]
    fn a_lone_placeholder_takes_the_type_of_its_value() {
        let mut value = json!({
            "seed": "{{seed}}",
            "name": "a-{{seed}}-{{prompt}}",
            "deep": [{"text": "{{prompt}}"}, ["4", 0], 1.5, null, true],
            "other": "{{a|b}} {{unknown}} x",
        });
        fill(&mut value, &|placeholder| match placeholder {
            Placeholder::Seed => json!(7),
            _ => json!("say \"{{seed}}\""),
        });
        assert_eq!(
            value,
            json!({
                "seed": 7,
                "name": "a-7-say \"{{seed}}\"",
                "deep": [{"text": "say \"{{seed}}\""}, ["4", 0], 1.5, null, true],
                "other": "{{a|b}} {{unknown}} x",
            }),
            "inserted values are not expanded again"
        );
    }
}
