//! Models on the wire.

use super::kinds;
use crate::application::state::AppState;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tintype_storage::domain::tier::{Mode, Tier};

/// A model as it is sold.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Model {
    /// Its name.
    #[schemars(with = "kinds::TierWord")]
    id: &'static str,
    /// From a prompt alone, and from input images.
    #[schemars(with = "Vec<kinds::ModeWord>")]
    modes: Vec<&'static str>,
    /// The shapes that it makes.
    #[schemars(with = "Vec<kinds::ChoiceWord>")]
    aspect_ratios: Vec<String>,
    /// The sizes that it makes.
    #[schemars(with = "Vec<kinds::ResolutionWord>")]
    resolutions: Vec<&'static str>,
    /// By size, in the service's currency.
    #[schemars(with = "BTreeMap<String, kinds::Money>")]
    prices: BTreeMap<&'static str, String>,
    /// Would a call be answered 503 now?
    paused: bool,
    /// Why, where the operator has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_reason: Option<String>,
    /// Is the key scoped for it?
    allowed: bool,
}

/// All models as they are now. `allows` tells which of them whoever asks may use.
pub fn on_sale(state: &AppState, allows: impl Fn(Tier) -> bool) -> Vec<Model> {
    let pause = state.pause.read();
    let model = |tier: &Tier| {
        let offer = state.catalog.tier(*tier);
        let ratios = offer.aspect_ratios.iter().map(ToString::to_string);
        Model {
            id: tier.word(),
            modes: Mode::ALL.iter().map(|mode| mode.word()).collect(),
            aspect_ratios: ratios
                .chain(offer.auto.then(|| "auto".to_owned()))
                .collect(),
            resolutions: offer.resolution_words().collect(),
            prices: offer
                .prices
                .iter()
                .map(|(it, price)| (it.word(), price.to_string()))
                .collect(),
            paused: pause.covers(*tier),
            paused_reason: pause.reason(*tier).map(str::to_owned),
            allowed: allows(*tier),
        }
    };
    Tier::ALL.iter().map(model).collect()
}
