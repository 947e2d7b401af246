//! Which models take no new work at the moment, and why.

use super::tier::Tier;
use serde::{Deserialize, Serialize};

/// The operator's switches. They survive a restart.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pause {
    /// Everything is paused.
    pub project: bool,
    /// One switch per tier, in the order of [`Tier::ALL`].
    pub tiers: [bool; 3],
    /// The operator's words to those who are turned away.
    pub reasons: PauseReasons,
}

/// A tier takes no new jobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is paused{}",
    .tier.map_or_else(|| "the service".to_owned(), |it| format!("the {it} model")),
    .reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default()
)]
pub struct Paused {
    /// The paused tier; `None` where everything is paused.
    pub tier: Option<Tier>,
    /// Why, where the operator has said so.
    pub reason: Option<String>,
}

/// Why something is paused. What is not paused has no reason.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PauseReasons {
    /// Why everything is.
    pub project: Option<String>,
    /// Why a tier is, in the order of [`Tier::ALL`].
    pub tiers: [Option<String>; 3],
}

impl Pause {
    /// Does this tier take no new jobs, and start none?
    pub fn covers(&self, tier: Tier) -> bool {
        self.project || self.tiers[tier.index()]
    }

    /// Lets new jobs of a tier pass that is not paused.
    ///
    /// # Errors
    /// What is paused, and why.
    pub fn admit(&self, tier: Tier) -> Result<(), Paused> {
        if !self.covers(tier) {
            return Ok(());
        }
        Err(Paused {
            tier: (!self.project).then_some(tier),
            reason: self.reason(tier).map(str::to_owned),
        })
    }

    /// Why this tier takes no new jobs, where it is known. That everything is paused goes before what is said of the tier.
    pub fn reason(&self, tier: Tier) -> Option<&str> {
        let reason = if self.project {
            &self.reasons.project
        } else {
            &self.reasons.tiers[tier.index()]
        };
        reason.as_deref()
    }

    /// Takes away the reasons of what is not paused.
    pub fn tidied(mut self) -> Self {
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
    pub fn apply(self, before: &Pause, unnamed: Unnamed) -> Pause {
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
