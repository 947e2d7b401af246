//! Which backends are paused, and why.

use super::pause::{PauseChange, UnnamedPauses};
use super::time::Timestamp;
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
    /// When the pause began. An earlier version did not record it.
    pub since: Option<Timestamp>,
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

impl PauseChange {
    /// Returns the changed pauses of backends. A call without a list of backends to pause keeps all pauses, because it may not know of
    /// them. A pause that stays keeps its time, and its reason unless the call names another.
    pub fn apply_to_backends(
        &self,
        before: &BackendPauses,
        unnamed: UnnamedPauses,
        now: Timestamp,
    ) -> BackendPauses {
        let mut paused = match (unnamed, &self.backends) {
            (UnnamedPauses::Resume, Some(_)) => BTreeMap::new(),
            _ => before.paused.clone(),
        };
        for name in self.resume_backends.iter().flatten() {
            paused.remove(name);
        }
        for name in self.backends.iter().flatten() {
            let mut pause = before.of(name).cloned().unwrap_or(BackendPause {
                reason: None,
                since: Some(now),
            });
            let own = self.backend_pauses.as_ref().and_then(|it| it.get(name));
            if let Some(reason) = own.or(self.reason.as_ref()) {
                pause.reason.clone_from(reason);
            }
            paused.insert(name.clone(), pause);
        }
        BackendPauses { paused }
    }
}
