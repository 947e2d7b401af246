//! The orderly stop: no new work, a grace period for runs and attempts in flight, then the cut-off.

use crate::delivery::{DeliveryActor, DeliveryCommand, DeliveryDepths};
use crate::dispatch::{CutOff, Dispatcher, DispatcherCommand};
use crate::queue::LocalQueue;
use actix::Addr;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The time in which interrupted runs must record their end.
const CUT_OFF_GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

pub struct Drain<'a> {
    pub dispatcher: &'a Addr<Dispatcher>,
    pub deliveries: &'a Addr<DeliveryActor>,
    pub local_queue: &'a LocalQueue,
    pub cut_off: &'a CutOff,
}

impl Drain<'_> {
    /// Starts no more jobs and attempts, lets running ones finish within `grace`, and cuts off the rest, at once if they wait for the end
    /// of a pause.
    pub async fn run(self, grace: Duration) {
        // Awaited, so that the dispatcher starts no job after the first check.
        let _ = self.dispatcher.send(DispatcherCommand::Stop).await;
        self.cut_off.begin_to_stop();
        self.deliveries.do_send(DeliveryCommand::Stop);
        if !self.is_idle_within(grace, true).await {
            self.cut_off.trigger();
            // Interrupted attempts have nothing to record: they are made again after the restart.
            self.is_idle_within(CUT_OFF_GRACE, false).await;
        }
    }

    /// Waits until no run, and with `attempts` no attempt, is in flight.
    async fn is_idle_within(&self, limit: Duration, attempts: bool) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let in_flight = DeliveryDepths::of(self.deliveries).await.in_flight;
            if self.local_queue.in_progress() == 0 && (!attempts || in_flight == 0) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL).await;
        }
    }
}
