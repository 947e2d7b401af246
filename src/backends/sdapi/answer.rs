//! Parses answers: `{"images": ["<base64>"], "info": "<JSON as a string>"}`.

use crate::backends::image_bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Why an answer yields no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoImage {
    #[error("the answer does not have the form of /sdapi/v1")]
    Form,
    /// The list is empty. Some servers report a failure this way.
    #[error("the answer holds no image")]
    Empty,
    #[error("the image in the answer is not base64")]
    Encoding,
}

/// An answer to txt2img or img2img. The parser drops every other field; one of them repeats the input images.
#[derive(Debug, Deserialize)]
pub struct GenerationAnswer {
    images: Option<Vec<String>>,
    info: Option<Box<RawValue>>,
}

/// An answer to extra-single-image.
#[derive(Debug, Deserialize)]
pub struct UpscaleAnswer {
    image: Option<String>,
}

/// An answer that holds an image. Decoding it is CPU-heavy: call it on the blocking pool.
pub trait ImageAnswer: DeserializeOwned + Send + 'static {
    /// # Errors
    ///
    /// See [`NoImage`].
    fn image(self) -> Result<Vec<u8>, NoImage>;
}

impl ImageAnswer for GenerationAnswer {
    /// Returns the first image after the grid, if the server sends a grid.
    fn image(self) -> Result<Vec<u8>, NoImage> {
        let images = self.images.ok_or(NoImage::Form)?;
        let first = self.info.map_or(0, |info| index_of_first(info.get()));
        let first = images.get(first).or(images.first());
        decode(first.ok_or(NoImage::Empty)?)
    }
}

impl ImageAnswer for UpscaleAnswer {
    fn image(self) -> Result<Vec<u8>, NoImage> {
        decode(&self.image.ok_or(NoImage::Form)?)
    }
}

#[derive(Deserialize)]
struct Info {
    index_of_first_image: Option<usize>,
}

/// The index of the first image after an optional grid. `info` is JSON in a JSON string; some servers send the object itself.
fn index_of_first(info: &str) -> usize {
    let within: Option<String> = serde_json::from_str(info).ok();
    let text = within.as_deref().unwrap_or(info);
    let info: Option<Info> = serde_json::from_str(text).ok();
    info.and_then(|it| it.index_of_first_image).unwrap_or(0)
}

fn decode(text: &str) -> Result<Vec<u8>, NoImage> {
    match image_bytes(text) {
        Some(bytes) => Ok(bytes),
        None if text.trim().is_empty() => Err(NoImage::Empty),
        None => Err(NoImage::Encoding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read<T: ImageAnswer>(answer: &Value) -> Result<Vec<u8>, NoImage> {
        let bytes = serde_json::to_vec(answer).unwrap();
        let read: T = serde_json::from_slice(&bytes).map_err(|_| NoImage::Form)?;
        read.image()
    }

    fn image(answer: &Value) -> Result<Vec<u8>, NoImage> {
        read::<GenerationAnswer>(answer)
    }

    fn enlarged(answer: &Value) -> Result<Vec<u8>, NoImage> {
        read::<UpscaleAnswer>(answer)
    }

    #[test]
    fn the_first_image_that_is_not_a_grid_is_returned() {
        let of = |answer: Value| image(&answer).map(|bytes| String::from_utf8(bytes).unwrap());
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
        assert_eq!(image(&answer).unwrap(), b"first");
        assert_eq!(enlarged(&json!({"image": "Zmlyc3Q=\n"})).unwrap(), b"first");
    }

    #[test]
    fn every_other_answer_is_a_fault() {
        for (answer, fault) in [
            (json!({"images": []}), NoImage::Empty),
            (json!({"images": [""]}), NoImage::Empty),
            (
                json!({"images": ["data:image/png;base64"]}),
                NoImage::Encoding,
            ),
            (json!({"images": ["&&&"]}), NoImage::Encoding),
            (json!({"images": [7]}), NoImage::Form),
            (json!({"images": null}), NoImage::Form),
            (json!({"detail": "Not Found"}), NoImage::Form),
            (json!(["Zmlyc3Q="]), NoImage::Form),
            (json!(null), NoImage::Form),
        ] {
            assert_eq!(image(&answer), Err(fault), "{answer}");
        }
        assert_eq!(enlarged(&json!({"images": []})), Err(NoImage::Form));
    }
}
