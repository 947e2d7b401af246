//! What the image models of the Gemini API differ in. Ids are the operator's, so the families are told by parts of them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::tier::Resolution;

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The ratios that every image model has come first in the list of all.
const COMMON_RATIOS: usize = 10;

/// An image model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    id: String,
    /// Is it told a size? Models that have only one refuse to be.
    pub takes_size: bool,
    /// The ratios that it has.
    pub ratios: &'static [AspectRatio],
    /// The most input images that it takes.
    pub max_inputs: usize,
}

impl Model {
    /// The model of this id, which may begin with `models/`.
    pub fn named(id: &str) -> Self {
        let id = id.strip_prefix("models/").unwrap_or(id);
        let oldest = id.contains("2.5-flash-image");
        // `fast`, `quality` and `pro` are what another Tintype calls its own.
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

    /// The id as a segment of a path.
    pub fn segment(&self) -> String {
        utf8_percent_encode(&self.id, SEGMENT).to_string()
    }

    /// The ratio to ask for: the wanted one, or the nearest that the model has. The picture is then cropped.
    pub fn ratio(&self, wanted: AspectRatio) -> AspectRatio {
        let (width, height) = wanted.into();
        AspectRatio::nearest(self.ratios, u32::from(width), u32::from(height)).unwrap_or(wanted)
    }

    /// The size to ask for, if it is told one.
    pub fn size(&self, resolution: Resolution) -> Option<&'static str> {
        self.takes_size.then(|| resolution.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_are_told_by_their_ids() {
        let told = |id: &str| {
            let it = Model::named(id);
            (it.takes_size, it.ratios.len(), it.max_inputs)
        };
        assert_eq!(told("gemini-2.5-flash-image"), (false, 10, 3));
        assert_eq!(told("gemini-3.1-flash-lite-image"), (false, 10, 14));
        assert_eq!(told("gemini-3.1-flash-image"), (true, 14, 14));
        assert_eq!(told("gemini-3.1-flash-image-preview"), (true, 14, 14));
        assert_eq!(told("models/gemini-3-pro-image"), (true, 10, 14));
        assert_eq!(told("fast"), (false, 10, 14));
        assert_eq!(told("pro"), (true, 14, 14));
        assert_eq!(told("gemini-9-unheard-of"), (true, 10, 14));
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
    fn an_id_cannot_leave_its_place_in_the_path() {
        assert_eq!(Model::named("models/a.b-c_1").segment(), "a.b-c_1");
        assert_eq!(Model::named("../x?y#z").segment(), "..%2Fx%3Fy%23z");
    }
}
