//! Delays the deletion of input images of ended jobs while a backup may need them.
//!
//! A backup shows the state at the start of its export, with the inputs of all jobs live at that time; many of these would be
//! deleted before the backup copies them. Refused alternative: waiting for the backup to report its end, because a backup that never
//! reports would keep the inputs forever.

use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

/// From the start of an export. A backup copies inputs first.
const RETENTION: Duration = Duration::from_secs(3_600);

/// Inputs of ended jobs with their deletion times. The state is in memory; after a crash the sweep of orphaned inputs deletes them.
#[derive(Default)]
pub struct KeptInputs(Mutex<State>);

#[derive(Default)]
struct State {
    /// An export may start without notice to this process.
    always: bool,
    /// Inputs due before this time are kept until then.
    until: Option<Instant>,
    /// Ordered by deletion time.
    keys: VecDeque<(Instant, String)>,
}

impl KeptInputs {
    /// For one of several nodes: an export may start on another node, or read the database directly, so every input is kept.
    pub fn of_node() -> Self {
        Self(Mutex::new(State {
            always: true,
            ..State::default()
        }))
    }

    /// Call it when an export starts.
    pub fn begin(&self, now: Instant) {
        self.0.lock().until = Some(now + RETENTION);
    }

    /// Returns the keys that may be deleted now: all or none. Keeps the others.
    pub fn defer(&self, keys: Vec<String>, now: Instant) -> Vec<String> {
        let mut state = self.0.lock();
        if state.always {
            state.until = Some(now + RETENTION);
        }
        match state.until {
            Some(until) if now < until => {
                state.keys.extend(keys.into_iter().map(|key| (until, key)));
                Vec::new()
            }
            Some(_) | None => keys,
        }
    }

    /// Removes and returns the keys that are due.
    pub fn due(&self, now: Instant) -> Vec<String> {
        let mut state = self.0.lock();
        let due = state.keys.partition_point(|(until, _)| *until <= now);
        state.keys.drain(..due).map(|(_, key)| key).collect()
    }

    /// Removes the kept keys from `objects`.
    pub fn exclude_kept(&self, objects: &mut HashSet<String>) {
        for (_, key) in &self.0.lock().keys {
            objects.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn without_an_export_inputs_are_deleted_at_once() {
        let kept = KeptInputs::default();
        assert_eq!(kept.defer(keys(&["a"]), Instant::now()), keys(&["a"]));
    }

    #[test]
    fn a_node_retains_every_input_for_the_retention_period() {
        let (kept, now) = (KeptInputs::of_node(), Instant::now());
        assert!(kept.defer(keys(&["a"]), now).is_empty());
        assert!(kept.due(now + RETENTION / 2).is_empty());
        assert_eq!(kept.due(now + RETENTION), keys(&["a"]));
    }

    #[test]
    fn inputs_are_retained_as_long_as_an_export_that_may_contain_them() {
        let (kept, began) = (KeptInputs::default(), Instant::now());
        kept.begin(began);
        assert!(kept.defer(keys(&["a", "b"]), began).is_empty());
        let later = began + RETENTION / 2;
        kept.begin(later);
        assert!(kept.defer(keys(&["c"]), later).is_empty());
        assert!(kept.due(later).is_empty());
        let mut objects = HashSet::from_iter(keys(&["a", "c", "stale"]));
        kept.exclude_kept(&mut objects);
        assert_eq!(objects, HashSet::from_iter(keys(&["stale"])));
        // The second export began after these jobs had ended.
        assert_eq!(kept.due(began + RETENTION), keys(&["a", "b"]));
        assert_eq!(kept.due(later + RETENTION), keys(&["c"]));
        assert_eq!(kept.defer(keys(&["d"]), later + RETENTION), keys(&["d"]));
    }
}
