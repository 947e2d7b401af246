//! Reads `[tiers.*]`: merged key by key, and refused where they contradict themselves or the interface.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;

use super::backend::{Backend, BackendKind};
use super::billing::amount;
use super::error::Place;
use super::node::{Item, Tree};
use super::reader::{Field, Section};
use super::suggest::nearest;
use super::tier::{ASPECT_RATIOS, RESOLUTIONS, Tier, TierBackend, Tiers};
use super::values::{fitting, free_name, integer, list, or_empty, text};

const NAMES: [&str; 3] = ["fast", "quality", "pro"];

/// The model ids so far, each with its tier and the place of the list that it stands in.
type Taken = BTreeMap<String, (&'static str, Place)>;

/// Reads the tiers. `known` are the names of all back ends that were written down, `backends` those without a fault.
pub(super) fn read(
    mut s: Section<'_>,
    known: &BTreeSet<&str>,
    backends: &BTreeMap<String, Backend>,
) -> Tiers {
    let mut taken = Taken::new();
    let mut tier = |name: &'static str| {
        let mut s = s.section(name);
        let read = Tier {
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
        Tier { prices, ..read }
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
    let complain = |message: String| s.fault("name", message);
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
                complain(format!(
                    "the back end `{name}` takes its key from the environment variable {variable}, which is not set"
                ));
            }
        }
        // What could not be read may have held it, and a faulty back end has been reported as such.
        None if name.is_empty()
            || known.contains(name.as_str())
            || s.context.faults.incomplete() => {}
        None => {
            let hint = nearest(&name, known.iter().copied()).map_or_else(
                || format!("defined: {}", join(known)),
                |m| format!("did you mean `{m}`?"),
            );
            complain(format!("the back end `{name}` is not defined; {hint}"));
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

fn twice(values: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    values.iter().find(|value| !seen.insert(*value))
}

fn ratios(s: &mut Section<'_>, tier: &str) -> Vec<String> {
    // The interface says that the fast tier has no `auto`, so no configuration may offer it.
    let allowed: &[&str] = if tier == "fast" {
        &ASPECT_RATIOS[..14]
    } else {
        &ASPECT_RATIOS
    };
    let read = s.required("aspect_ratios", list(1..=15, text(one_of(allowed))));
    if let Some(value) = twice(&read) {
        s.fault("aspect_ratios", format!("`{value}` is there twice"));
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
    if let Some(value) = twice(&read) {
        s.fault("resolutions", format!("`{value}` is there twice"));
    }
    if read.is_empty() {
        return read;
    }
    if tier == "fast" && read != ["1K"] {
        let message = "expected [\"1K\"]: the fast tier has no other";
        s.fault("resolutions", message.to_owned());
        // No price is then judged by a list that is wrong anyway.
        return Vec::new();
    }
    if !read.iter().any(|value| value == "1K") {
        let message =
            "expected `1K` among them: it is what a request without `resolution` asks for";
        s.fault("resolutions", message.to_owned());
    }
    read
}

fn prices(s: &mut Section<'_>, resolutions: &[String]) -> BTreeMap<String, Decimal> {
    let layer = s
        .field("resolutions")
        .map_or(0, |field| field.node.place.layer());
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
        } else if !resolutions.is_empty() && field.node.place.layer() >= layer {
            // A price of a layer below the one that took the resolution away is merely left over.
            field.fault("this tier has no such resolution".to_owned());
        }
    }
    for resolution in resolutions {
        // Prices are only ever added by a layer, so it is the list that asks for one too many.
        if !table.names().any(|name| name == resolution) {
            let message = format!("`{resolution}` has no price, expected one in `prices`");
            s.fault("resolutions", message);
        }
    }
    prices
}

fn compat_models(s: &mut Section<'_>, tier: &'static str, taken: &mut Taken) -> Vec<String> {
    let id = |text: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(plain);
        let expected = "a model id of letters, digits, `.`, `-` and `_`";
        fitting(text, fits, expected)
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
        let place = &field.node.place;
        match taken.insert(model.clone(), (tier, place.clone())) {
            Some((other, _)) if other == tier => field.fault(format!("`{model}` is there twice")),
            // Between two lists the one of the later layer is the one to change.
            Some((other, earlier)) if earlier.layer() > place.layer() => {
                let message = format!("`{model}` belongs to the tier {tier} already");
                let key = format!("tiers.{other}.compat_models");
                s.context.faults.push(&earlier, &key, message);
            }
            Some((other, _)) => {
                field.fault(format!("`{model}` belongs to the tier {other} already"));
            }
            None => {}
        }
    }
    read
}

/// The names of the back ends in the tree.
pub(super) fn names(tree: &Tree) -> BTreeSet<&str> {
    match tree.get("backends").map(|node| &node.item) {
        Some(Item::Table(backends)) => backends.keys().map(String::as_str).collect(),
        _ => BTreeSet::new(),
    }
}
