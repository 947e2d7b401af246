//! Input images that stay for a while after their jobs have ended, because a backup that is under way may want them.
//!
//! A backup shows the moment at which its export began. Jobs that were live at that moment belong to it with their inputs, of
//! which many would be gone before they could be copied. Asking whoever makes the backup to say when it is done would leave
//! them lying about whenever nobody says so.

use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

/// After the beginning of an export. A backup copies inputs before anything else.
const KEPT_FOR: Duration = Duration::from_secs(3_600);

/// Inputs of ended jobs, and until when each stays. What a crash makes this forget, the sweep of stale inputs finds.
#[derive(Default)]
pub struct KeptInputs(Mutex<State>);

#[derive(Default)]
struct State {
    /// Exports may begin without a word to this process.
    always: bool,
    /// What is to go before this moment stays until then.
    until: Option<Instant>,
    /// In the order in which they are to go.
    keys: VecDeque<(Instant, String)>,
}

impl KeptInputs {
    /// Inputs of a node: an export may begin at any other node, or read the database without one, so each input stays.
    pub fn of_node() -> Self {
        Self(Mutex::new(State {
            always: true,
            ..State::default()
        }))
    }

    /// An export begins: what is to go from now on may belong to it.
    pub fn begin(&self, now: Instant) {
        self.0.lock().until = Some(now + KEPT_FOR);
    }

    /// Gives those keys back that may go now; all or none.
    pub fn put_aside(&self, keys: Vec<String>, now: Instant) -> Vec<String> {
        let mut state = self.0.lock();
        if state.always {
            state.until = Some(now + KEPT_FOR);
        }
        match state.until {
            Some(until) if now < until => {
                state.keys.extend(keys.into_iter().map(|key| (until, key)));
                Vec::new()
            }
            Some(_) | None => keys,
        }
    }

    /// The keys whose time is over, and that are not kept any more.
    pub fn due(&self, now: Instant) -> Vec<String> {
        let mut state = self.0.lock();
        let due = state.keys.partition_point(|(until, _)| *until <= now);
        state.keys.drain(..due).map(|(_, key)| key).collect()
    }

    /// Takes those out that are kept.
    pub fn remove_kept(&self, objects: &mut HashSet<String>) {
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
    fn without_an_export_inputs_go_at_once() {
        let kept = KeptInputs::default();
        assert_eq!(kept.put_aside(keys(&["a"]), Instant::now()), keys(&["a"]));
    }

    #[test]
    fn at_a_node_each_stays_without_a_word() {
        let (kept, now) = (KeptInputs::of_node(), Instant::now());
        assert!(kept.put_aside(keys(&["a"]), now).is_empty());
        assert!(kept.due(now + KEPT_FOR / 2).is_empty());
        assert_eq!(kept.due(now + KEPT_FOR), keys(&["a"]));
    }

    #[test]
    fn each_stays_until_the_exports_that_it_may_belong_to_are_over() {
        let (kept, began) = (KeptInputs::default(), Instant::now());
        kept.begin(began);
        assert!(kept.put_aside(keys(&["a", "b"]), began).is_empty());
        let later = began + KEPT_FOR / 2;
        kept.begin(later);
        assert!(kept.put_aside(keys(&["c"]), later).is_empty());
        assert!(kept.due(later).is_empty());
        let mut objects = HashSet::from_iter(keys(&["a", "c", "stale"]));
        kept.remove_kept(&mut objects);
        assert_eq!(objects, HashSet::from_iter(keys(&["stale"])));
        // The second export began after these jobs had ended.
        assert_eq!(kept.due(began + KEPT_FOR), keys(&["a", "b"]));
        assert_eq!(kept.due(later + KEPT_FOR), keys(&["c"]));
        assert_eq!(kept.put_aside(keys(&["d"]), later + KEPT_FOR), keys(&["d"]));
    }
}
