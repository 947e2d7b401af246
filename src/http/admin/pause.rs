//! The switches that pause the project or a model, with the reasons that callers are told.

use crate::api::fields::Fields;
use crate::api::kinds;
use crate::application::audit_context::{Subject, to_audit_entry};
use crate::application::commit::Change;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use tintype_actors::dispatch::DispatcherCommand;
use tintype_storage::domain::audit_log::Action;
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

/// `GET /pause`
pub async fn show(_: Operator, state: web::Data<AppState>) -> HttpResponse {
    HttpResponse::Ok().json(view(&state.pause.read()))
}

/// `PUT /pause`: what is left out is not paused.
pub async fn set(
    operator: Operator,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    switch(Wanted::read(&body)?, Rest::Open, &operator, &state).await
}

/// `PATCH /pause`: what is left out stays as it is, whatever somebody else has made of it meanwhile.
pub async fn change(
    operator: Operator,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    switch(Wanted::read(&body)?, Rest::AsItIs, &operator, &state).await
}

/// What becomes of the switches that a body does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Open,
    AsItIs,
}

async fn switch(
    wanted: Wanted,
    rest: Rest,
    operator: &Operator,
    state: &AppState,
) -> Result<HttpResponse, Problem> {
    let turn = state.operator.take().await;
    let before = state.pause.read().clone();
    let pause = wanted.onto(&before, rest);
    if pause != before {
        let subject = Subject {
            account: None,
            id: None,
        };
        let line = operator.author.line(state, Action::PauseChange, subject);
        let line = to_audit_entry(line, Some(facts(&before)), Some(facts(&pause)));
        let mut writes = state.store.set_pause(&pause);
        writes.push(state.store.add_audit(&line));
        let (here, dispatcher) = (Arc::clone(&state.pause), state.system.dispatcher());
        let known = pause.clone();
        let change = Change::in_turn(turn, writes).then(move || {
            *here.write() = known.clone();
            dispatcher.do_send(DispatcherCommand::Pause(known));
        });
        state.commit_pause(pause.clone(), change).await?;
    }
    Ok(HttpResponse::Ok().json(view(&pause)))
}

/// What a body asks for. Of a reason an outer `None` is one that was not sent, an inner one is `null`.
struct Wanted {
    project: Option<bool>,
    tiers: [Option<bool>; 3],
    /// For all that is paused and has none of its own.
    reason: Option<Option<String>>,
    project_reason: Option<Option<String>>,
    tier_reasons: [Option<Option<String>>; 3],
}

impl Wanted {
    fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = Fields::parse(body).map_err(Problem::validation)?;
        let mut wanted = Self {
            project: fields.optional_bool("project"),
            tiers: [None; 3],
            reason: reason(&mut fields, "reason"),
            project_reason: None,
            tier_reasons: Default::default(),
        };
        if let Some(raw) = fields.optional("tiers") {
            inner(&mut fields, "tiers", raw, TIERS, |tiers| {
                for tier in Tier::ALL {
                    wanted.tiers[tier.index()] = tiers.optional_bool(tier.word());
                }
            });
        }
        if let Some(raw) = fields.optional("reasons") {
            inner(&mut fields, "reasons", raw, SWITCHES, |reasons| {
                wanted.project_reason = reason(reasons, "project");
                for tier in Tier::ALL {
                    wanted.tier_reasons[tier.index()] = reason(reasons, tier.word());
                }
            });
        }
        fields.finish(BODY).map_err(Problem::validation)?;
        Ok(wanted)
    }

    /// The switches as they will be. What stays paused keeps its reason unless it is given another.
    fn onto(self, before: &Pause, rest: Rest) -> Pause {
        let switched = |named: Option<bool>, before: bool| match rest {
            Rest::Open => named.unwrap_or(false),
            Rest::AsItIs => named.unwrap_or(before),
        };
        // Where the rest stays as it is, so do its reasons.
        let given = |named: Option<bool>, own: Option<Option<String>>, before: &Option<String>| {
            let common = self.reason.clone();
            let common = common.filter(|_| rest == Rest::Open || named.is_some());
            own.or(common).unwrap_or_else(|| before.clone())
        };
        let [fast, quality, pro] = self.tier_reasons;
        let old = &before.reasons.tiers;
        let reasons = PauseReasons {
            project: given(self.project, self.project_reason, &before.reasons.project),
            tiers: [
                given(self.tiers[0], fast, &old[0]),
                given(self.tiers[1], quality, &old[1]),
                given(self.tiers[2], pro, &old[2]),
            ],
        };
        Pause {
            project: switched(self.project, before.project),
            tiers: [0, 1, 2].map(|at| switched(self.tiers[at], before.tiers[at])),
            reasons,
        }
        .tidied()
    }
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
fn view(pause: &Pause) -> Switches {
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

/// What the audit log says of the switches.
fn facts(pause: &Pause) -> Value {
    // A map with string keys always encodes.
    serde_json::to_value(view(pause)).unwrap_or_default()
}
