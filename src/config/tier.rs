//! The three tiers: their aspect ratios, resolutions, prices and backends.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Serialize;

use super::billing;

pub const ASPECT_RATIOS: [&str; 15] = [
    "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9", "1:4", "4:1", "1:8",
    "8:1", "auto",
];

pub const RESOLUTIONS: [&str; 3] = ["1K", "2K", "4K"];

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
    /// The tiers with their names, cheapest first.
    pub fn iter(&self) -> [(&'static str, &Tier); 3] {
        [
            ("fast", &self.fast),
            ("quality", &self.quality),
            ("pro", &self.pro),
        ]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tier {
    /// In order of preference: at least one, each of them configured.
    pub backends: Vec<TierBackend>,
    /// Values of [`ASPECT_RATIOS`], at least one of them not `auto`.
    pub aspect_ratios: Vec<String>,
    /// Values of [`RESOLUTIONS`], among them `1K`, which is the only one of `fast`.
    pub resolutions: Vec<String>,
    /// Model ids in the synchronous interfaces, besides the tier's name.
    pub compat_models: Vec<String>,
    /// By resolution.
    #[serde(serialize_with = "billing::as_strings")]
    pub prices: BTreeMap<String, Decimal>,
}

/// A backend in the list of a tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierBackend {
    /// The name below `[backends]`.
    pub name: String,
    /// The model or checkpoint. `None`: the backend's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The backend's share of the tier's images. Without any weights the tier uses its backends strictly in order. Next to weighted
    /// backends, one without a weight is a fallback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}
