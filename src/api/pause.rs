//! The switches that pause the project or a model, on the wire.

use super::fields::Fields;
use super::kinds;
use crate::application::error::Error;
use crate::application::pause::PauseChange;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use tintype_storage::domain::pause::{Pause, PauseReasons};
use tintype_storage::domain::tier::Tier;

/// The fields of a body.
pub const BODY: &[&str] = &["project", "tiers", "reason", "reasons"];
/// Those of its `tiers`.
pub const TIERS: &[&str] = &["fast", "quality", "pro"];
/// Those of its `reasons`.
pub const SWITCHES: &[&str] = &["project", "fast", "quality", "pro"];
/// Of a reason.
pub const MAX_REASON_CHARS: usize = 200;

/// The switches on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Switches", deny_unknown_fields)]
pub struct Switches {
    /// Everything is paused.
    project: bool,
    /// Each model by its name.
    #[schemars(with = "kinds::PerTier<bool>")]
    tiers: BTreeMap<&'static str, bool>,
    /// What callers are told, for each switch by its name. Left out where there is no reason at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    reasons: Option<BTreeMap<&'static str, Option<String>>>,
}

/// What a body asks for.
pub fn read(body: &[u8]) -> Result<PauseChange, Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let mut change = PauseChange {
        project: fields.optional_bool("project"),
        tiers: [None; 3],
        reason: reason(&mut fields, "reason"),
        project_reason: None,
        tier_reasons: Default::default(),
    };
    if let Some(raw) = fields.optional("tiers") {
        inner(&mut fields, "tiers", raw, TIERS, |tiers| {
            for tier in Tier::ALL {
                change.tiers[tier.index()] = tiers.optional_bool(tier.word());
            }
        });
    }
    if let Some(raw) = fields.optional("reasons") {
        inner(&mut fields, "reasons", raw, SWITCHES, |reasons| {
            change.project_reason = reason(reasons, "project");
            for tier in Tier::ALL {
                change.tier_reasons[tier.index()] = reason(reasons, tier.word());
            }
        });
    }
    fields.finish(BODY).map_err(Error::invalid)?;
    Ok(change)
}

/// Reads an object inside the body; its faults are told with its name before theirs.
fn inner(
    fields: &mut Fields<'_>,
    name: &str,
    raw: &RawValue,
    known: &[&str],
    read: impl FnOnce(&mut Fields<'_>),
) {
    match Fields::parse(raw.get().as_bytes()) {
        Ok(mut object) => {
            read(&mut object);
            for fault in object.finish(known).err().unwrap_or_default() {
                fields.fault(format!("{name}.{}", fault.field), fault.message);
            }
        }
        Err(_) => fields.fault(name, format!("must be an object with {}", known.join(", "))),
    }
}

fn reason(fields: &mut Fields<'_>, name: &str) -> Option<Option<String>> {
    if !fields.has(name) {
        return None;
    }
    let text = fields.optional_string(name);
    let fits = |text: &String| {
        let chars = text.chars().count();
        (1..=MAX_REASON_CHARS).contains(&chars) && !text.chars().any(char::is_control)
    };
    if text.as_ref().is_some_and(|text| !fits(text)) {
        let message =
            format!("must be 1 to {MAX_REASON_CHARS} characters without control characters");
        fields.fault(name, message);
    }
    Some(text)
}

/// The switches; with reasons only where there is one.
pub fn view(pause: &Pause) -> Switches {
    let reasons = |pause: &Pause| {
        let of_tiers = Tier::ALL.iter().map(|tier| {
            let reason = &pause.reasons.tiers[tier.index()];
            (tier.word(), reason.clone())
        });
        let of_project = ("project", pause.reasons.project.clone());
        of_tiers.chain([of_project]).collect()
    };
    let tiers = Tier::ALL.iter();
    Switches {
        project: pause.project,
        tiers: tiers
            .map(|tier| (tier.word(), pause.tiers[tier.index()]))
            .collect(),
        reasons: (pause.reasons != PauseReasons::default()).then(|| reasons(pause)),
    }
}
