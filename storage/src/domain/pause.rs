//! Which models are paused, and why.

use super::tier::Tier;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The operator's pauses. They survive a restart.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pause {
    pub project: bool,
    /// In the order of [`Tier::ALL`].
    pub tiers: [bool; 3],
    /// Shown to callers that are refused.
    pub reasons: PauseReasons,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is paused{}",
    .tier.map_or_else(|| "the service".to_owned(), |it| format!("the {it} model")),
    .reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default()
)]
pub struct ActivePause {
    /// `None` if everything is paused.
    pub tier: Option<Tier>,
    /// The operator's reason, if given.
    pub reason: Option<String>,
}

/// The reasons of what is paused.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseReasons {
    pub project: Option<String>,
    /// In the order of [`Tier::ALL`].
    pub tiers: [Option<String>; 3],
}

impl Pause {
    pub fn everything() -> Self {
        Self {
            project: true,
            ..Self::default()
        }
    }

    /// Is this tier paused? A paused tier accepts no new jobs and starts none.
    pub fn covers(&self, tier: Tier) -> bool {
        self.project || self.tiers[tier.index()]
    }

    /// Accepts new jobs of a tier that is not paused.
    ///
    /// # Errors
    /// The pause and its reason.
    pub fn admit(&self, tier: Tier) -> Result<(), ActivePause> {
        if !self.covers(tier) {
            return Ok(());
        }
        Err(ActivePause {
            tier: (!self.project).then_some(tier),
            reason: self.reason(tier).map(str::to_owned),
        })
    }

    /// The reason why this tier is paused, if known. A pause of everything takes precedence.
    pub fn reason(&self, tier: Tier) -> Option<&str> {
        let reason = if self.project {
            &self.reasons.project
        } else {
            &self.reasons.tiers[tier.index()]
        };
        reason.as_deref()
    }

    /// Drops the reasons of tiers that are not paused.
    fn without_unused_reasons(mut self) -> Self {
        if !self.project {
            self.reasons.project = None;
        }
        for (reason, paused) in self.reasons.tiers.iter_mut().zip(self.tiers) {
            if !paused {
                *reason = None;
            }
        }
        self
    }
}

/// What happens to pauses that a call does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UnnamedPauses {
    Resume,
    Keep,
}

/// The change that a call requests. An outer `None` is a reason that was not sent; an inner one removes the reason.
#[derive(Default)]
pub struct PauseChange {
    pub project: Option<bool>,
    pub tiers: [Option<bool>; 3],
    /// The backends to pause, by name.
    pub backends: Option<Vec<String>>,
    /// The backends to resume, by name.
    pub resume_backends: Option<Vec<String>>,
    /// The reasons of single backends. Only those that the call pauses count.
    pub backend_reasons: Option<BTreeMap<String, Option<String>>>,
    /// The reason of everything that the call pauses without its own reason.
    pub reason: Option<Option<String>>,
    /// Of the project, then in the order of [`Tier::ALL`].
    pub reasons: [Option<Option<String>>; 4],
    /// Does the call fail if it would begin a pause?
    pub if_paused: Option<bool>,
}

impl PauseChange {
    /// Returns the changed pauses. A pause that stays keeps its reason unless the call names another.
    pub fn apply(self, before: &Pause, unnamed: UnnamedPauses) -> Pause {
        let switched = |named: Option<bool>, before: bool| match unnamed {
            UnnamedPauses::Resume => named.unwrap_or(false),
            UnnamedPauses::Keep => named.unwrap_or(before),
        };
        // Pauses that stay unchanged keep their reasons.
        let given = |named: Option<bool>, own: Option<Option<String>>, before: &Option<String>| {
            let common = self.reason.clone();
            let common = common.filter(|_| unnamed == UnnamedPauses::Resume || named.is_some());
            own.or(common).unwrap_or_else(|| before.clone())
        };
        let [project, fast, quality, pro] = self.reasons;
        let old = &before.reasons.tiers;
        let reasons = PauseReasons {
            project: given(self.project, project, &before.reasons.project),
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
        .without_unused_reasons()
    }
}
