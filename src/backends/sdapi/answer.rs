//! What comes back: `{"images": ["<base64>"], "info": "<JSON as a string>"}`.

use crate::backends::picture_bytes;
use serde_json::Value;

/// Why there is no picture in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    /// It is not what this interface answers.
    #[error("the answer is not of the form of /sdapi/v1")]
    Form,
    /// The list is empty, which is how some servers tell of a failure.
    #[error("the answer holds no picture")]
    Empty,
    /// The picture is not base64.
    #[error("the picture in the answer is not base64")]
    Encoding,
}

/// The picture of an answer to txt2img or img2img: the first that is no grid of all.
///
/// # Errors
///
/// See [`NoPicture`].
pub fn picture(answer: &Value) -> Result<Vec<u8>, NoPicture> {
    let images = answer.get("images").and_then(Value::as_array);
    let images = images.ok_or(NoPicture::Form)?;
    let first = images
        .get(index_of_first(answer))
        .or_else(|| images.first())
        .ok_or(NoPicture::Empty)?;
    decode(first.as_str().ok_or(NoPicture::Form)?)
}

/// The picture of an answer to extra-single-image.
///
/// # Errors
///
/// See [`NoPicture`].
pub fn enlarged(answer: &Value) -> Result<Vec<u8>, NoPicture> {
    let image = answer.get("image").and_then(Value::as_str);
    decode(image.ok_or(NoPicture::Form)?)
}

/// Where the pictures begin: before them may stand a grid. `info` is JSON within JSON; some relatives give the object itself.
fn index_of_first(answer: &Value) -> usize {
    let index = |info: &Value| info.get("index_of_first_image").and_then(Value::as_u64);
    let found = match answer.get("info") {
        Some(Value::String(text)) => serde_json::from_str(text).ok().as_ref().and_then(index),
        Some(info) => index(info),
        None => None,
    };
    found.and_then(|at| usize::try_from(at).ok()).unwrap_or(0)
}

fn decode(text: &str) -> Result<Vec<u8>, NoPicture> {
    match picture_bytes(text) {
        Some(bytes) => Ok(bytes),
        None if text.trim().is_empty() => Err(NoPicture::Empty),
        None => Err(NoPicture::Encoding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_picture_is_the_first_that_is_no_grid() {
        let of = |answer: Value| picture(&answer).map(|bytes| String::from_utf8(bytes).unwrap());
        let (grid, first, map) = ("Z3JpZA==", "Zmlyc3Q=", "bWFw");
        let info = r#"{"seed": 5, "index_of_first_image": 1}"#;
        let list = json!([grid, first, map]);
        assert_eq!(of(json!({"images": list, "info": info})).unwrap(), "first");
        let object = json!({"index_of_first_image": 1});
        assert_eq!(
            of(json!({"images": list, "info": object})).unwrap(),
            "first"
        );
        for info in [
            json!(null),
            json!("{}"),
            json!("no JSON"),
            json!(""),
            json!({"index_of_first_image": 9}),
            json!({"index_of_first_image": -1}),
            json!({"index_of_first_image": "1"}),
        ] {
            let answer = json!({"images": [first, map], "info": info});
            assert_eq!(of(answer).unwrap(), "first", "{info}");
        }
        assert_eq!(of(json!({"images": [first]})).unwrap(), "first");
    }

    #[test]
    fn a_data_url_is_read_too() {
        let answer = json!({"images": ["data:image/png;base64,Zmlyc3Q="]});
        assert_eq!(picture(&answer).unwrap(), b"first");
        assert_eq!(enlarged(&json!({"image": "Zmlyc3Q=\n"})).unwrap(), b"first");
    }

    #[test]
    fn every_other_answer_is_a_fault() {
        for (answer, fault) in [
            (json!({"images": []}), NoPicture::Empty),
            (json!({"images": [""]}), NoPicture::Empty),
            (
                json!({"images": ["data:image/png;base64"]}),
                NoPicture::Encoding,
            ),
            (json!({"images": ["&&&"]}), NoPicture::Encoding),
            (json!({"images": [7]}), NoPicture::Form),
            (json!({"images": null}), NoPicture::Form),
            (json!({"detail": "Not Found"}), NoPicture::Form),
            (json!(["Zmlyc3Q="]), NoPicture::Form),
            (json!(null), NoPicture::Form),
        ] {
            assert_eq!(picture(&answer), Err(fault), "{answer}");
        }
        assert_eq!(enlarged(&json!({"images": []})), Err(NoPicture::Form));
    }
}
