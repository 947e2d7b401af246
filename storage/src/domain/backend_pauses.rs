//! Which backends are paused, and why.

use super::pause::{PauseChange, UnnamedPauses};
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

impl PauseChange {
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
            let pause = match &self.reason {
                Some(reason) => BackendPause {
                    reason: reason.clone(),
                },
                None => before.of(name).cloned().unwrap_or_default(),
            };
            paused.insert(name.clone(), pause);
        }
        BackendPauses { paused }
    }
}
