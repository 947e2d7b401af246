//! The differences between the image models of the Gemini API. The operator chooses the id, so a substring of the id identifies the
//! model family.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::tier::Resolution;

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The first ten of [`AspectRatio::ALL`] are those that every image model supports.
const COMMON_RATIOS: usize = 10;

#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    id: String,
    /// Models with a single size reject `imageSize`.
    pub takes_size: bool,
    pub ratios: &'static [AspectRatio],
    pub max_inputs: usize,
}

impl Model {
    /// `id` may begin with `models/`.
    pub fn named(id: &str) -> Self {
        let id = id.strip_prefix("models/").unwrap_or(id);
        let oldest = id.contains("2.5-flash-image");
        // `fast`, `quality` and `pro` are the models of another Tintype server.
        let one_size = oldest || id.contains("flash-lite-image") || id == "fast";
        let all_ratios = id.contains("3.1-flash-image") || matches!(id, "quality" | "pro");
        Self {
            id: id.to_owned(),
            takes_size: !one_size,
            ratios: match all_ratios {
                true => &AspectRatio::ALL,
                false => &AspectRatio::ALL[..COMMON_RATIOS],
            },
            max_inputs: if oldest { 3 } else { 14 },
        }
    }

    /// The id as a path segment.
    pub fn segment(&self) -> String {
        utf8_percent_encode(&self.id, SEGMENT).to_string()
    }

    /// The wanted ratio, or the nearest that the model supports; the result is cropped later.
    pub fn ratio(&self, wanted: AspectRatio) -> AspectRatio {
        let (width, height) = wanted.into();
        AspectRatio::nearest(self.ratios, u32::from(width), u32::from(height)).unwrap_or(wanted)
    }

    /// `imageSize`, if the model takes one.
    pub fn size(&self, resolution: Resolution) -> Option<&'static str> {
        self.takes_size.then(|| resolution.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_recognized_by_their_ids() {
        let traits = |id: &str| {
            let it = Model::named(id);
            (it.takes_size, it.ratios.len(), it.max_inputs)
        };
        assert_eq!(traits("gemini-2.5-flash-image"), (false, 10, 3));
        assert_eq!(traits("gemini-3.1-flash-lite-image"), (false, 10, 14));
        assert_eq!(traits("gemini-3.1-flash-image"), (true, 14, 14));
        assert_eq!(traits("gemini-3.1-flash-image-preview"), (true, 14, 14));
        assert_eq!(traits("models/gemini-3-pro-image"), (true, 10, 14));
        assert_eq!(traits("fast"), (false, 10, 14));
        assert_eq!(traits("pro"), (true, 14, 14));
        assert_eq!(traits("gemini-9-unheard-of"), (true, 10, 14));
    }

    #[test]
    fn a_ratio_that_a_model_lacks_becomes_its_nearest() {
        let ratio = |id: &str, wanted: &str| {
            let wanted = wanted.parse().unwrap();
            Model::named(id).ratio(wanted).to_string()
        };
        assert_eq!(ratio("gemini-3-pro-image", "16:9"), "16:9");
        assert_eq!(ratio("gemini-3-pro-image", "8:1"), "21:9");
        assert_eq!(ratio("gemini-3-pro-image", "1:4"), "9:16");
        assert_eq!(ratio("gemini-3.1-flash-image", "1:8"), "1:8");
    }

    #[test]
    fn a_model_id_is_escaped_as_one_path_segment() {
        assert_eq!(Model::named("models/a.b-c_1").segment(), "a.b-c_1");
        assert_eq!(Model::named("../x?y#z").segment(), "..%2Fx%3Fy%23z");
    }
}
