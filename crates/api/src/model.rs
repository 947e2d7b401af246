//! What is on sale.

use crate::text::{AspectWord, ModeWord, Money, ResolutionWord, TierWord};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A model as it is sold.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Model {
    /// Its name.
    pub id: TierWord,
    /// From a prompt alone, and from input images.
    pub modes: Vec<ModeWord>,
    /// The shapes that it makes.
    pub aspect_ratios: Vec<AspectWord>,
    /// The sizes that it makes.
    pub resolutions: Vec<ResolutionWord>,
    /// By size, in the service's currency.
    pub prices: BTreeMap<&'static str, Money>,
    /// Would a call be answered 503 now?
    pub paused: bool,
    /// Why, where the operator has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_reason: Option<String>,
    /// Is the key scoped for it?
    pub allowed: bool,
}
