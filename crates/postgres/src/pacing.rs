//! How many transactions are under way beside each other. Few large ones cost the database, and this process, far less than many small ones.
//! Reads are not paced: with groups of reads, the callers of a busy node wait for each other, and less is done.

use std::time::Duration;
use tokio::time::Instant;

/// A transaction under way for longer keeps no other one from beginning: the database is slow, or far away.
const SLOW: Duration = Duration::from_millis(5);

/// The transactions under way.
#[derive(Default)]
pub struct Pacing {
    under_way: Vec<(GroupNumber, Instant)>,
    begun: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupNumber(u64);

impl Pacing {
    /// Until when what waits is to wait for the end of what is under way, and so for more to go with it; `None` where it may go at once.
    pub fn rests_until(&self, now: Instant) -> Option<Instant> {
        let ends = self.under_way.iter().map(|(_, began)| *began + SLOW);
        ends.filter(|end| *end > now).max()
    }

    pub fn begin(&mut self, now: Instant) -> GroupNumber {
        self.begun += 1;
        let number = GroupNumber(self.begun);
        self.under_way.push((number, now));
        number
    }

    /// Without effect for a number that was not given.
    pub fn end(&mut self, number: GroupNumber) {
        self.under_way.retain(|(it, _)| *it != number);
    }
}
