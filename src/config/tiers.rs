//! The three tiers: their aspect ratios, resolutions, prices and backends. Refuses tiers that contradict themselves, one another or
//! the API.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde::Serialize;
use tintype_api::fields::nearest;

use super::amounts::{self, amount};
use super::backends::{Backend, BackendKind};
use super::error::Location;
use super::node::{Item, Tree};
use super::reader::{Field, Section};
use super::values::{accept_if, free_name, integer, list, or_empty, text};

pub const ASPECT_RATIOS: [&str; 15] = [
    "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9", "1:4", "4:1", "1:8",
    "8:1", "auto",
];

pub const RESOLUTIONS: [&str; 3] = ["1K", "2K", "4K"];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tiers {
    /// `/nb`: always 1K.
    pub fast: TierConfig,
    /// `/nb2`.
    pub quality: TierConfig,
    /// Unprefixed.
    pub pro: TierConfig,
}

impl Tiers {
    /// The tiers with their names, cheapest first.
    pub fn iter(&self) -> [(&'static str, &TierConfig); 3] {
        [
            ("fast", &self.fast),
            ("quality", &self.quality),
            ("pro", &self.pro),
        ]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TierConfig {
    /// In order of preference: at least one, each of them configured.
    pub backends: Vec<TierBackend>,
    /// Values of [`ASPECT_RATIOS`], at least one of them not `auto`.
    pub aspect_ratios: Vec<String>,
    /// Values of [`RESOLUTIONS`], among them `1K`, which is the only one of `fast`.
    pub resolutions: Vec<String>,
    /// Model ids in the synchronous interfaces, besides the tier's name.
    pub compat_models: Vec<String>,
    /// By resolution.
    #[serde(serialize_with = "amounts::as_strings")]
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

const NAMES: [&str; 3] = ["fast", "quality", "pro"];

/// The model ids read so far, each with its tier and the location of its list.
type ModelLocations = BTreeMap<String, (&'static str, Location)>;

/// Reads the tiers. `known` are the names of all backends in the input, `backends` those without a fault.
pub(super) fn read(
    mut s: Section<'_>,
    known: &BTreeSet<&str>,
    backends: &BTreeMap<String, Backend>,
) -> Tiers {
    let mut taken = ModelLocations::new();
    let mut tier = |name: &'static str| {
        let mut s = s.section(name);
        let read = TierConfig {
            backends: s.required(
                "backends",
                list(1..=16, |field| entry(field, known, backends)),
            ),
            aspect_ratios: ratios(&mut s, name),
            resolutions: resolutions(&mut s, name),
            compat_models: compat_models(&mut s, name, &mut taken),
            prices: BTreeMap::new(),
        };
        let prices = prices(&mut s, &read.resolutions);
        s.finish();
        TierConfig { prices, ..read }
    };
    let tiers = Tiers {
        fast: tier("fast"),
        quality: tier("quality"),
        pro: tier("pro"),
    };
    s.finish();
    tiers
}

fn entry(
    field: &Field<'_>,
    known: &BTreeSet<&str>,
    backends: &BTreeMap<String, Backend>,
) -> Option<TierBackend> {
    let mut s = field.section()?;
    let name: String = s.required("name", text(free_name));
    let model = s.optional("model", text(or_empty(free_name))).flatten();
    let weight = s.optional("weight", integer(1..=1_000));
    let fault = |message: String| s.fault("name", message);
    match backends.get(&name) {
        Some(backend) => {
            if model.is_some() && backend.kind == BackendKind::Procedural {
                s.fault("model", "the built-in generator has no models".to_owned());
            }
            let remote = backend.remote();
            let variable = remote
                .filter(|r| r.api_key.is_none())
                .and_then(|r| r.api_key_env.as_ref());
            if let Some(variable) = variable
                && s.context.needs_keys
            {
                let is_usual = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
                // A user who confuses the two keys writes the secret itself here.
                let variable = match variable.bytes().all(is_usual) {
                    true => format!("environment variable {variable}"),
                    false => format!("variable that api_key_env of [backends.{name}] names"),
                };
                fault(format!(
                    "the backend `{name}` takes its key from the {variable}, which is not set"
                ));
            }
        }
        // A part that could not be parsed may define this backend, and a faulty backend already has its fault.
        None if name.is_empty()
            || known.contains(name.as_str())
            || s.context.faults.is_incomplete() => {}
        None => {
            let hint = nearest(&name, known.iter().copied()).map_or_else(
                || format!("defined: {}", join(known)),
                |m| format!("did you mean `{m}`?"),
            );
            fault(format!("the backend `{name}` is not defined; {hint}"));
        }
    }
    s.finish();
    Some(TierBackend {
        name,
        model,
        weight,
    })
}

fn join(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

fn one_of<'w>(words: &'w [&'w str]) -> impl Fn(&str) -> Result<String, String> + use<'w> {
    move |word| {
        if words.contains(&word) {
            return Ok(word.to_owned());
        }
        let hint = nearest(word, words.iter().copied())
            .filter(|meant| meant.eq_ignore_ascii_case(word))
            .map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
        Err(format!("one of {}{hint}", words.join(" ")))
    }
}

fn first_duplicate(values: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    values.iter().find(|value| !seen.insert(*value))
}

fn ratios(s: &mut Section<'_>, tier: &str) -> Vec<String> {
    // In the API the fast tier has no `auto`, so no configuration may offer it.
    let allowed: &[&str] = if tier == "fast" {
        &ASPECT_RATIOS[..14]
    } else {
        &ASPECT_RATIOS
    };
    let read = s.required("aspect_ratios", list(1..=15, text(one_of(allowed))));
    if let Some(value) = first_duplicate(&read) {
        s.fault("aspect_ratios", format!("`{value}` is given twice"));
    }
    if read == ["auto"] {
        let message =
            "expected a ratio besides `auto`, which requests without input images cannot use";
        s.fault("aspect_ratios", message.to_owned());
    }
    read
}

fn resolutions(s: &mut Section<'_>, tier: &str) -> Vec<String> {
    let read = s.required("resolutions", list(1..=3, text(one_of(&RESOLUTIONS))));
    if let Some(value) = first_duplicate(&read) {
        s.fault("resolutions", format!("`{value}` is given twice"));
    }
    if read.is_empty() {
        return read;
    }
    if tier == "fast" && read != ["1K"] {
        let message = "expected [\"1K\"]: the fast tier has no other resolution";
        s.fault("resolutions", message.to_owned());
        // An empty list, so that prices are not checked against the wrong one.
        return Vec::new();
    }
    if !read.iter().any(|value| value == "1K") {
        let message = "expected `1K` among them: requests without `resolution` use it";
        s.fault("resolutions", message.to_owned());
    }
    read
}

fn prices(s: &mut Section<'_>, resolutions: &[String]) -> BTreeMap<String, Decimal> {
    let layer = s
        .field("resolutions")
        .map_or(0, |field| field.node.location.layer());
    let mut table = s.section("prices");
    let mut prices = BTreeMap::new();
    for name in table.names() {
        let Some(field) = table.field(name) else {
            continue;
        };
        if !RESOLUTIONS.contains(&name) {
            field.fault(format!(
                "unknown resolution, expected one of {}",
                RESOLUTIONS.join(" ")
            ));
            continue;
        }
        let price = text(amount)(&field);
        let sold = resolutions.iter().any(|resolution| resolution == name);
        if sold {
            prices.extend(price.map(|price| (name.to_owned(), price)));
        } else if !resolutions.is_empty() && field.node.location.layer() >= layer {
            // A price in a lower layer is no fault: a higher layer removed its resolution.
            field.fault("this tier has no such resolution".to_owned());
        }
    }
    for resolution in resolutions {
        // Layers can only add prices, so the fault is in the list of resolutions.
        if !table.names().any(|name| name == resolution) {
            let message = format!("`{resolution}` has no price, expected one in `prices`");
            s.fault("resolutions", message);
        }
    }
    prices
}

fn compat_models(
    s: &mut Section<'_>,
    tier: &'static str,
    taken: &mut ModelLocations,
) -> Vec<String> {
    let id = |text: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(plain);
        let expected = "a model id of letters, digits, `.`, `-` and `_`";
        accept_if(text, fits, expected)
    };
    let read = s.required("compat_models", list(0..=64, text(id)));
    let Some(field) = s.field("compat_models") else {
        return read;
    };
    for model in &read {
        if let Some(other) = NAMES.iter().find(|name| **name == model && **name != tier) {
            field.fault(format!("`{model}` is the name of the tier {other}"));
            continue;
        }
        let location = &field.node.location;
        match taken.insert(model.clone(), (tier, location.clone())) {
            Some((other, _)) if other == tier => field.fault(format!("`{model}` is given twice")),
            // Of two lists, the one in the higher layer has the fault.
            Some((other, earlier)) if earlier.layer() > location.layer() => {
                let message = format!("`{model}` already belongs to the tier {tier}");
                let key = format!("tiers.{other}.compat_models");
                s.context.faults.push(&earlier, &key, message);
            }
            Some((other, _)) => {
                field.fault(format!("`{model}` already belongs to the tier {other}"));
            }
            None => {}
        }
    }
    read
}

pub(super) fn backend_names(tree: &Tree) -> BTreeSet<&str> {
    match tree.get("backends").map(|node| &node.item) {
        Some(Item::Table(backends)) => backends.keys().map(String::as_str).collect(),
        _ => BTreeSet::new(),
    }
}
