//! The switches that pause the project or a model, with the reasons that callers are told.

use super::audit_context::{AuditContext, Subject, to_audit_entry};
use super::commit::Change;
use super::error::Error;
use super::state::AppState;
use serde_json::{Value, json};
use std::sync::Arc;
use tintype_actors::dispatch::DispatcherCommand;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::pause::{Pause, PauseReasons};
use tintype_storage::domain::tier::Tier;

/// What becomes of the switches that a call does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unnamed {
    Resume,
    Keep,
}

/// What a call asks for. Of a reason an outer `None` is one that was not sent; an inner one removes it.
#[derive(Default)]
pub struct PauseChange {
    pub project: Option<bool>,
    pub tiers: [Option<bool>; 3],
    /// For all that is paused and has no reason of its own.
    pub reason: Option<Option<String>>,
    pub project_reason: Option<Option<String>>,
    pub tier_reasons: [Option<Option<String>>; 3],
}

impl PauseChange {
    /// The switches as they will be. What stays paused keeps its reason unless it is given another.
    fn apply(self, before: &Pause, unnamed: Unnamed) -> Pause {
        let switched = |named: Option<bool>, before: bool| match unnamed {
            Unnamed::Resume => named.unwrap_or(false),
            Unnamed::Keep => named.unwrap_or(before),
        };
        // Where the rest stays as it is, so do its reasons.
        let given = |named: Option<bool>, own: Option<Option<String>>, before: &Option<String>| {
            let common = self.reason.clone();
            let common = common.filter(|_| unnamed == Unnamed::Resume || named.is_some());
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

/// Changes the switches. What changes nothing is not written.
pub async fn change(
    state: &AppState,
    context: &AuditContext,
    change: PauseChange,
    unnamed: Unnamed,
) -> Result<Pause, Error> {
    let turn = state.operator.take().await;
    let before = state.pause.read().clone();
    let pause = change.apply(&before, unnamed);
    if pause != before {
        let subject = Subject {
            account: None,
            id: None,
        };
        let entry = context.line(state, Action::PauseChange, subject);
        let entry = to_audit_entry(entry, Some(facts(&before)), Some(facts(&pause)));
        let mut writes = state.store.set_pause(&pause);
        writes.push(state.store.add_audit(&entry));
        let (here, dispatcher) = (Arc::clone(&state.pause), state.system.dispatcher());
        let known = pause.clone();
        let change = Change::in_turn(turn, writes).then(move || {
            *here.write() = known.clone();
            dispatcher.do_send(DispatcherCommand::Pause(known));
        });
        state.commit_pause(pause.clone(), change).await?;
    }
    Ok(pause)
}

/// What the audit log says of the switches; of reasons only where there is one.
fn facts(pause: &Pause) -> Value {
    let tier = |tier: &Tier| (tier.word().to_owned(), json!(pause.tiers[tier.index()]));
    let mut facts = json!({
        "project": pause.project,
        "tiers": Value::Object(Tier::ALL.iter().map(tier).collect()),
    });
    if pause.reasons != PauseReasons::default() {
        let reason = |tier: &Tier| {
            let reason = &pause.reasons.tiers[tier.index()];
            (tier.word().to_owned(), json!(reason))
        };
        let reasons = Tier::ALL.iter().map(reason);
        let project = ("project".to_owned(), json!(pause.reasons.project));
        facts["reasons"] = Value::Object(reasons.chain([project]).collect());
    }
    facts
}
