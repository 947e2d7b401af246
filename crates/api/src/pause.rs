//! The switches that pause the project, a model or a backend.

use crate::body::Presence;
use crate::field::{BackendNames, Flag, Kind, Nullable, Optional, Reason};
use crate::fields::{Fields, shown};
use crate::schema::{PerTier, object, or_null, with_description};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::array;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use tintype_storage::domain::backend_pauses::{BackendPause, BackendPauses};
use tintype_storage::domain::pause::{Pause, PauseChange, PauseReasons};
use tintype_storage::domain::tier::Tier;

static SWITCHES: [&str; 4] = ["project", "fast", "quality", "pro"];

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
    /// The names of the paused backends. Absent if no backend is paused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<String>,
    /// Why each of `backends` is paused, by name, `null` without a reason. Only operators see it. Absent if no backend is paused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backend_reasons: BTreeMap<String, Option<String>>,
}

impl Switches {
    pub fn new(pause: &Pause, backends: &BackendPauses) -> Self {
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
        let backend_reason =
            |(name, pause): (&String, &BackendPause)| (name.clone(), pause.reason.clone());
        Self {
            project: pause.project,
            tiers: Tier::ALL
                .map(|it| (word(it), pause.tiers[it.index()]))
                .into(),
            reasons: (pause.reasons != PauseReasons::default()).then(reasons),
            backends: backends.paused.keys().cloned().collect(),
            backend_reasons: backends.paused.iter().map(backend_reason).collect(),
        }
    }
}

body!(PauseChange {
    /// Everything.
    project: Optional<Flag>,
    /// Single models.
    tiers: BySwitch<Optional<Flag>, 3>,
    /// The names of backends to pause. `PATCH` leaves other paused backends as they are, `PUT` resumes them. Without the list, both leave
    /// all paused backends as they are.
    backends: Optional<BackendNames>,
    /// The names of backends to resume.
    resume_backends: Optional<BackendNames>,
    /// The reasons of backends in `backends`, by name, before `reason`. Those of other backends are ignored.
    backend_reasons: Optional<BackendReasons>,
    /// The reason that callers see, for all paused switches without a separate reason. Only operators see that of a backend, which the
    /// call must name.
    reason: Nullable<Reason>,
    /// Reasons of single switches.
    reasons: BySwitch<Nullable<Reason>, 4>,
    /// `true`: the call begins no pause. It fails with `409` and changes nothing if something that it pauses is not paused, for example
    /// because another operator has resumed it.
    if_paused: Optional<Flag>,
});

/// An object with a field for each of the last `N` switches: 3 for the models, 4 for all. Its faults are reported with their paths.
struct BySwitch<P, const N: usize>(PhantomData<P>);

impl<P, const N: usize> BySwitch<P, N> {
    fn names() -> &'static [&'static str] {
        &SWITCHES[SWITCHES.len() - N..]
    }
}

impl<P: Presence<Value: Default>, const N: usize> Presence for BySwitch<P, N> {
    type Value = [P::Value; N];
    const IS_REQUIRED: bool = false;

    fn take(fields: &mut Fields<'_>, name: &str) -> Option<Self::Value> {
        let names = Self::names();
        let Some(raw) = fields.optional(name) else {
            return Some(array::from_fn(|_| P::Value::default()));
        };
        let Ok(mut object) = Fields::parse(raw.get().as_bytes()) else {
            fields.fault(name, format!("must be an object with {}", names.join(", ")));
            return None;
        };
        let read = array::from_fn(|at| P::take(&mut object, names[at]).unwrap_or_default());
        for fault in object.finish(names).err().unwrap_or_default() {
            fields.fault(format!("{name}.{}", fault.field), fault.message);
        }
        Some(read)
    }

    fn schema(_: bool) -> Value {
        let of = |name| with_description(P::schema(false), format!("For `{name}`."));
        let members = Self::names().iter().map(|name| (*name, of(name)));
        or_null(object(members.collect(), &[]))
    }
}

/// The reasons of backends, by name.
struct BackendReasons;

impl Kind for BackendReasons {
    type Value = BTreeMap<String, Option<String>>;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<Self::Value> {
        let Ok(mut object) = Fields::parse(raw.get().as_bytes()) else {
            fields.fault(name, "must be an object with the names of backends");
            return None;
        };
        let mut reasons = BTreeMap::new();
        for backend in object.names() {
            if let Some(Some(reason)) = Nullable::<Reason>::take(&mut object, &backend) {
                reasons.insert(backend, reason);
            }
        }
        for fault in object.finish(&[]).err().unwrap_or_default() {
            fields.fault(format!("{name}.{}", shown(&fault.field)), fault.message);
        }
        Some(reasons)
    }

    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": Nullable::<Reason>::schema(false)})
    }
}
