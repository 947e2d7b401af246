//! Which backends are paused, and why.

use super::pause::{Pause, PauseChange, UnnamedPauses};
use super::tier::Tier;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The operator's pauses of backends. They survive a restart.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BackendPauses {
    /// By the name of the backend in the configuration.
    pub paused: BTreeMap<String, BackendPause>,
}

/// A paused backend gets no new attempt.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BackendPause {
    /// For operators.
    pub reason: Option<String>,
}

impl BackendPauses {
    pub fn of(&self, backend: &str) -> Option<&BackendPause> {
        self.paused.get(backend)
    }

    /// The pauses without those of backends that the configuration no longer has.
    pub fn only(mut self, is_defined: impl Fn(&str) -> bool) -> Self {
        self.paused.retain(|name, _| is_defined(name));
        self
    }
}

/// A call that may only change existing pauses names one that has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is no longer paused, so nothing is changed; pause it again if it should be paused")]
pub struct NoLongerPaused {
    what: String,
}

impl PauseChange {
    /// Refuses a call that may only change existing pauses if it would begin one.
    ///
    /// # Errors
    /// The first pause that it would begin.
    pub fn check_paused(
        &self,
        models: &Pause,
        backends: &BackendPauses,
    ) -> Result<(), NoLongerPaused> {
        if self.if_paused != Some(true) {
            return Ok(());
        }
        let begins = |named: Option<bool>, is_paused: bool| named == Some(true) && !is_paused;
        let service = begins(self.project, models.project).then(|| "the service".to_owned());
        let model = Tier::ALL.into_iter().find(|tier| {
            let at = tier.index();
            begins(self.tiers[at], models.tiers[at])
        });
        let mut named = self.backends.iter().flatten();
        let backend = named.find(|name| backends.of(name).is_none());
        let what = service
            .or_else(|| model.map(|tier| format!("the model {}", tier.as_str())))
            .or_else(|| backend.map(|name| format!("the backend {name}")));
        match what {
            Some(what) => Err(NoLongerPaused { what }),
            None => Ok(()),
        }
    }

    /// Returns the changed pauses of backends. A call without a list of backends to pause keeps all pauses, because it may not know of
    /// them. A pause that stays keeps its reason unless the call names another.
    pub fn apply_to_backends(
        &self,
        before: &BackendPauses,
        unnamed: UnnamedPauses,
    ) -> BackendPauses {
        let mut paused = match (unnamed, &self.backends) {
            (UnnamedPauses::Resume, Some(_)) => BTreeMap::new(),
            _ => before.paused.clone(),
        };
        for name in self.resume_backends.iter().flatten() {
            paused.remove(name);
        }
        for name in self.backends.iter().flatten() {
            let mut pause = before.of(name).cloned().unwrap_or_default();
            let own = self.backend_reasons.as_ref().and_then(|it| it.get(name));
            if let Some(reason) = own.or(self.reason.as_ref()) {
                pause.reason.clone_from(reason);
            }
            paused.insert(name.clone(), pause);
        }
        BackendPauses { paused }
    }
}
