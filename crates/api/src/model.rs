//! Models.

use crate::text::{AspectWord, ModeWord, Money, ResolutionWord, TierWord};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A model, with its options and prices.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Model {
    /// The model's name.
    pub id: TierWord,
    /// With input images and without.
    pub modes: Vec<ModeWord>,
    /// The supported aspect ratios.
    pub aspect_ratios: Vec<AspectWord>,
    /// The supported resolutions.
    pub resolutions: Vec<ResolutionWord>,
    /// The price of each resolution, in the service's currency.
    pub prices: BTreeMap<&'static str, Money>,
    /// Is the model paused, so that requests are answered with 503?
    pub paused: bool,
    /// The operator's reason, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_reason: Option<String>,
    /// May your key use the model?
    pub allowed: bool,
}
