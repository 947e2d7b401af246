//! The answer of a generation or an edit.

use serde::Deserialize;

/// The parts of the answer that matter. Servers write null where they have nothing.
#[derive(Debug, Deserialize)]
pub struct Images {
    data: Option<Vec<Datum>>,
}

#[derive(Debug, Deserialize)]
struct Datum {
    b64_json: Option<String>,
    url: Option<String>,
}

/// A picture, or where it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// Base64.
    Data(String),
    /// An address, perhaps relative.
    Address(String),
}

impl Images {
    /// The first picture; one was asked for.
    pub fn first(self) -> Option<Item> {
        let full = |text: &String| !text.is_empty();
        self.data?.into_iter().find_map(|it| {
            let data = it.b64_json.filter(full).map(Item::Data);
            data.or_else(|| {
                let url = it.url.filter(full)?;
                Some(match url.starts_with("data:") {
                    true => Item::Data(url),
                    false => Item::Address(url),
                })
            })
        })
    }
}

/// The list of models.
#[derive(Debug, Deserialize)]
pub struct ModelList {
    data: Vec<ModelEntry>,
}

#[derive(Debug, Deserialize)]
struct ModelEntry {
    id: String,
}

impl ModelList {
    /// Their ids.
    pub fn ids(self) -> Vec<String> {
        self.data.into_iter().map(|it| it.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<Item> {
        serde_json::from_str::<Images>(text).unwrap().first()
    }

    #[test]
    fn base64_goes_before_an_address_and_nulls_are_normal() {
        let data = Some(Item::Data("AAAA".into()));
        assert_eq!(
            first(r#"{"created":1,"data":[{"b64_json":"AAAA","url":null,"revised_prompt":null}]}"#),
            data
        );
        assert_eq!(
            first(r#"{"data":[{"b64_json":"AAAA","url":"/x.png"}]}"#),
            data
        );
        assert_eq!(
            first(r#"{"data":[{"b64_json":null,"url":"/x.png"}]}"#),
            Some(Item::Address("/x.png".into()))
        );
        assert_eq!(
            first(r#"{"data":[{"url":"data:image/png;base64,AAAA"}]}"#),
            Some(Item::Data("data:image/png;base64,AAAA".into()))
        );
        for none in [
            r#"{"data":[]}"#,
            r#"{"data":null}"#,
            r#"{"data":[{}]}"#,
            "{}",
        ] {
            assert_eq!(first(none), None, "{none}");
        }
    }
}
