//! The switches that pause the project or a model.

use crate::body::{Body, Presence as _};
use crate::field::{Flag, Kind as _, Nullable, Optional, Reason};
use crate::fields::Fields;
use crate::schema::{PerTier, object, or_null, with_description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tintype_storage::domain::pause::{Pause, PauseChange, PauseReasons};
use tintype_storage::domain::tier::Tier;

const TIERS: &[&str] = &["fast", "quality", "pro"];
const SWITCHES: &[&str] = &["project", "fast", "quality", "pro"];

/// The pause switches.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Switches {
    /// Is everything paused?
    pub project: bool,
    /// Is a model paused? By model name.
    #[schemars(with = "PerTier<bool>")]
    pub tiers: BTreeMap<Cow<'static, str>, bool>,
    /// The reasons that callers see, by switch, `null` without a reason. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    pub reasons: Option<BTreeMap<Cow<'static, str>, Option<String>>>,
}

impl From<&Pause> for Switches {
    fn from(pause: &Pause) -> Self {
        let word = |tier: Tier| Cow::Borrowed(tier.as_str());
        let reasons = || {
            let reason = |tier: Tier| (word(tier), pause.reasons.tiers[tier.index()].clone());
            let of_project = (Cow::Borrowed("project"), pause.reasons.project.clone());
            Tier::ALL
                .map(reason)
                .into_iter()
                .chain([of_project])
                .collect()
        };
        Self {
            project: pause.project,
            tiers: Tier::ALL
                .map(|it| (word(it), pause.tiers[it.index()]))
                .into(),
            reasons: (pause.reasons != PauseReasons::default()).then(reasons),
        }
    }
}

impl Body for PauseChange {
    const FIELDS: &'static [&'static str] = &["project", "tiers", "reason", "reasons"];

    fn take(fields: &mut Fields<'_>) -> Option<Self> {
        let mut change = Self {
            project: Optional::<Flag>::take(fields, "project").flatten(),
            reason: Nullable::<Reason>::take(fields, "reason").flatten(),
            ..Self::default()
        };
        take_object(fields, "tiers", TIERS, |tiers| {
            for tier in Tier::ALL {
                change.tiers[tier.index()] = Optional::<Flag>::take(tiers, tier.as_str()).flatten();
            }
        });
        take_object(fields, "reasons", SWITCHES, |reasons| {
            change.project_reason = Nullable::<Reason>::take(reasons, "project").flatten();
            for tier in Tier::ALL {
                let reason = Nullable::<Reason>::take(reasons, tier.as_str());
                change.tier_reasons[tier.index()] = reason.flatten();
            }
        });
        Some(change)
    }

    fn schema(_: &[&str]) -> Value {
        let switch = || or_null(Flag::schema());
        let reason = || or_null(Reason::schema());
        let members = |names: &[&'static str], schema: &dyn Fn() -> Value, text: &str| {
            let of = |name: &str| with_description(schema(), format!("For `{name}`."));
            let members = names.iter().map(|name| (*name, of(name))).collect();
            with_description(or_null(object(members, &[])), text)
        };
        let fields = vec![
            ("project", with_description(switch(), "Everything.")),
            ("tiers", members(TIERS, &switch, "Single models.")),
            (
                "reason",
                with_description(
                    reason(),
                    "The reason that callers see, for all paused switches without a separate reason.",
                ),
            ),
            (
                "reasons",
                members(SWITCHES, &reason, "Reasons of single switches."),
            ),
        ];
        object(fields, &[])
    }
}

/// Reads a nested object. Its faults are reported with their paths.
fn take_object(
    fields: &mut Fields<'_>,
    name: &str,
    known: &[&str],
    take: impl FnOnce(&mut Fields<'_>),
) {
    let Some(raw) = fields.optional(name) else {
        return;
    };
    match Fields::parse(raw.get().as_bytes()) {
        Ok(mut object) => {
            take(&mut object);
            for fault in object.finish(known).err().unwrap_or_default() {
                fields.fault(format!("{name}.{}", fault.field), fault.message);
            }
        }
        Err(_) => fields.fault(name, format!("must be an object with {}", known.join(", "))),
    }
}
