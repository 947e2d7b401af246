//! Parses the responses of generations, edits and the model list.

use serde::Deserialize;

/// The relevant fields of the response. Servers send null for absent values.
#[derive(Debug, Deserialize)]
pub struct Images {
    data: Option<Vec<Datum>>,
}

#[derive(Debug, Deserialize)]
struct Datum {
    b64_json: Option<String>,
    url: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// Base64.
    Data(String),
    /// Absolute or relative.
    Address(String),
}

impl Images {
    /// The first image; the request asks for one.
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

#[derive(Debug, Deserialize)]
pub struct ModelList {
    data: Vec<ModelEntry>,
}

#[derive(Debug, Deserialize)]
struct ModelEntry {
    id: String,
}

impl ModelList {
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
    fn base64_takes_precedence_over_an_address_and_nulls_are_normal() {
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
