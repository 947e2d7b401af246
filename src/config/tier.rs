//! The three models on offer, with what they take, what they cost and who makes the pictures.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Serialize;

use super::billing;

/// Every aspect ratio that there is.
pub const ASPECT_RATIOS: [&str; 15] = [
    "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9", "1:4", "4:1", "1:8",
    "8:1", "auto",
];

/// Every resolution that there is.
pub const RESOLUTIONS: [&str; 3] = ["1K", "2K", "4K"];

/// The three tiers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tiers {
    /// `/nb`: always 1K.
    pub fast: Tier,
    /// `/nb2`.
    pub quality: Tier,
    /// Unprefixed.
    pub pro: Tier,
}

impl Tiers {
    /// The tiers with their names, in the order of their prices.
    pub fn iter(&self) -> [(&'static str, &Tier); 3] {
        [
            ("fast", &self.fast),
            ("quality", &self.quality),
            ("pro", &self.pro),
        ]
    }
}

/// One tier.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tier {
    /// The back ends in order of preference; at least one, each of them configured.
    pub backends: Vec<TierBackend>,
    /// Some of [`ASPECT_RATIOS`], at least one of which is no `auto`.
    pub aspect_ratios: Vec<String>,
    /// Some of [`RESOLUTIONS`], `1K` among them; of `fast` nothing else.
    pub resolutions: Vec<String>,
    /// Model ids of the synchronous interface, besides the tier's name.
    pub compat_models: Vec<String>,
    /// The price of each of the resolutions.
    #[serde(serialize_with = "billing::as_strings")]
    pub prices: BTreeMap<String, Decimal>,
}

/// A back end as a tier uses it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierBackend {
    /// The name below `[backends]`.
    pub name: String,
    /// The model or checkpoint to ask for; `None`: the back end's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its share of the tier's pictures. `None` everywhere: strictly in order; beside ones with a weight: in reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}
