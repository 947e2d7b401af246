//! Runs that go on at another back end, and wait for a place there.
//!
//! They wait here and not at the back end itself: so the dispatcher alone says whose turn it is, tiers keep their turns, and
//! it can see that there are enough of them.

use crate::permit::Granted;
use actix::Message;
use std::collections::VecDeque;
use tintype_storage::domain::tier::Tier;
use tokio::sync::oneshot;

/// Gives a run a place at the first of these routes of its tier that is not passed over, once there is one.
#[derive(Message)]
#[rtype(result = "()")]
pub struct MoveOn {
    /// The tier of its job.
    pub tier: Tier,
    /// The routes that it has not tried yet, in order of preference.
    pub ahead: Vec<usize>,
    /// Where the place is handed over. A run that has ended meanwhile has closed it.
    pub reply: oneshot::Sender<Granted>,
}

/// The waiting runs of one tier, first come first served.
#[derive(Default)]
pub struct Moves(VecDeque<MoveOn>);

impl Moves {
    /// Puts one behind the others.
    pub fn push(&mut self, moving: MoveOn) {
        self.0.push_back(moving);
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first for which there is a place, with that.
    pub fn next<P>(&mut self, mut place: impl FnMut(&[usize]) -> Option<P>) -> Option<(MoveOn, P)> {
        self.0.retain(|it| !it.reply.is_closed());
        let found = self.0.iter().enumerate();
        let (at, place) = found
            .filter_map(|(at, it)| Some((at, place(&it.ahead)?)))
            .next()?;
        Some((self.0.remove(at)?, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_can_go_on_does_and_who_has_ended_is_forgotten() {
        let mut moves = Moves::default();
        let mut ends = Vec::new();
        for ahead in [vec![1], vec![2, 1], vec![2]] {
            let (reply, end) = oneshot::channel();
            let tier = Tier::Fast;
            moves.push(MoveOn { tier, ahead, reply });
            ends.push(end);
        }
        let first = |ahead: &[usize]| (ahead[0] == 2).then_some("place");
        let (moved, place) = moves.next(first).expect("the second can");
        assert_eq!((moved.ahead, place), (vec![2, 1], "place"));
        drop(ends.pop());
        assert!(moves.next(first).is_none(), "the third has ended");
        assert_eq!(moves.len(), 1);
        assert!(!moves.is_empty());
    }
}
