//! Limits concurrent transactions. Few large transactions cost the database and this process far less than many small ones.
//! Reads are not paced: grouping reads makes the callers of a busy node wait for each other and lowers throughput.

use std::time::Duration;
use tokio::time::Instant;

/// A longer transaction no longer delays others: the database is slow or far away.
const SLOW: Duration = Duration::from_millis(5);

/// The transactions in flight.
#[derive(Default)]
pub struct Pacing {
    under_way: Vec<(GroupNumber, Instant)>,
    begun: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupNumber(u64);

impl Pacing {
    /// Until when waiting work should wait for the transactions in flight, to form a larger group; `None` if it should start at
    /// once.
    pub fn wait_until(&self, now: Instant) -> Option<Instant> {
        let ends = self.under_way.iter().map(|(_, began)| *began + SLOW);
        ends.filter(|end| *end > now).max()
    }

    pub fn begin(&mut self, now: Instant) -> GroupNumber {
        self.begun += 1;
        let number = GroupNumber(self.begun);
        self.under_way.push((number, now));
        number
    }

    /// Ignores an unknown number.
    pub fn end(&mut self, number: GroupNumber) {
        self.under_way.retain(|(it, _)| *it != number);
    }
}
