//! Parses responses: `{"images": ["<base64>"], "info": "<JSON as a string>"}`.

use super::progress::job_timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Why a response holds no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoImage {
    /// The response does not have the form of `/sdapi/v1`.
    Form,
    /// The list is empty. Some servers report a failure this way.
    Empty,
}

/// A response to txt2img or img2img. The parser drops every other field; one of them repeats the input images.
#[derive(Debug, Deserialize)]
pub struct GenerationResponse {
    images: Option<Vec<String>>,
    #[serde(default, deserialize_with = "info")]
    info: Info,
}

/// A response to extra-single-image.
#[derive(Debug, Deserialize)]
pub struct UpscaleResponse {
    image: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ReturnedImage {
    pub base64: String,
    /// The name of the checkpoint that generated it, if the server tells.
    pub checkpoint: Option<String>,
}

impl GenerationResponse {
    /// When the job began, if the server tells.
    pub fn job_timestamp(&self) -> Option<u64> {
        self.info.job_timestamp
    }

    /// Returns the first image after the grid, if the server sends a grid.
    pub fn image(self) -> Result<ReturnedImage, NoImage> {
        let images = self.images.ok_or(NoImage::Form)?;
        let first = self.info.index_of_first_image.unwrap_or(0);
        let first = if first < images.len() { first } else { 0 };
        let image = images.into_iter().nth(first).ok_or(NoImage::Empty)?;
        returned(image, self.info.sd_model_name)
    }
}

impl UpscaleResponse {
    pub fn image(self) -> Result<ReturnedImage, NoImage> {
        returned(self.image.ok_or(NoImage::Form)?, None)
    }
}

#[derive(Debug, Default, Deserialize)]
struct Info {
    /// After an optional grid.
    index_of_first_image: Option<usize>,
    sd_model_name: Option<String>,
    #[serde(default, deserialize_with = "job_timestamp")]
    job_timestamp: Option<u64>,
}

/// `info` is JSON in a JSON string; some servers send the object itself.
fn info<'de, D: Deserializer<'de>>(source: D) -> Result<Info, D::Error> {
    let given = Box::<RawValue>::deserialize(source)?;
    let within: Option<String> = serde_json::from_str(given.get()).ok();
    let text = within.as_deref().unwrap_or(given.get());
    Ok(serde_json::from_str(text).unwrap_or_default())
}

fn returned(base64: String, checkpoint: Option<String>) -> Result<ReturnedImage, NoImage> {
    match base64.trim().is_empty() {
        true => Err(NoImage::Empty),
        false => Ok(ReturnedImage { base64, checkpoint }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn read<T: DeserializeOwned>(response: &Value) -> Result<T, NoImage> {
        let bytes = serde_json::to_vec(response).unwrap();
        serde_json::from_slice(&bytes).map_err(|_| NoImage::Form)
    }

    fn image(response: &Value) -> Result<String, NoImage> {
        let read: GenerationResponse = read(response)?;
        read.image().map(|it| it.base64)
    }

    fn enlarged(response: &Value) -> Result<String, NoImage> {
        let read: UpscaleResponse = read(response)?;
        read.image().map(|it| it.base64)
    }

    #[test]
    fn the_first_image_that_is_not_a_grid_is_returned() {
        let of = |response: Value| image(&response);
        let (grid, first, map) = ("grid", "first", "map");
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
            let response = json!({"images": [first, map], "info": info});
            assert_eq!(of(response).unwrap(), "first", "{info}");
        }
        assert_eq!(of(json!({"images": [first]})).unwrap(), "first");
    }

    #[test]
    fn every_other_response_is_a_fault() {
        for (response, fault) in [
            (json!({"images": []}), NoImage::Empty),
            (json!({"images": [""]}), NoImage::Empty),
            (json!({"images": [7]}), NoImage::Form),
            (json!({"images": null}), NoImage::Form),
            (json!({"detail": "Not Found"}), NoImage::Form),
            (json!(["Zmlyc3Q="]), NoImage::Form),
            (json!(null), NoImage::Form),
        ] {
            assert_eq!(image(&response), Err(fault), "{response}");
        }
        assert_eq!(enlarged(&json!({"images": []})), Err(NoImage::Form));
        assert_eq!(enlarged(&json!({"image": "first"})), Ok("first".into()));
    }
}
