//! Timeouts of reading a body: one for each step of the caller and of the object store, and one for the call as a whole.

use super::refusal::{Kind, Refusal};
use crate::application::state::AppState;
use crate::images::FAULT_TARGET;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// The timeouts of one call.
#[derive(Clone, Copy, Debug)]
pub struct BodyTimeouts {
    step: Duration,
    until: Instant,
}

impl BodyTimeouts {
    /// For a call that ends at `until`; the step's is configured.
    pub fn new(state: &AppState, until: Instant) -> Self {
        Self {
            step: state.config.server.body_timeout(),
            until,
        }
    }

    /// Waits for the caller.
    ///
    /// # Errors
    /// Nothing has come.
    pub async fn arrival<T>(&self, next: impl Future<Output = T>) -> Result<T, Refusal> {
        timeout(self.step, next).await.map_err(|_| {
            let seconds = self.step.as_secs();
            Refusal::body(format!(
                "the request body did not arrive whole: nothing has come for {seconds} s"
            ))
        })
    }

    /// Waits for the object store.
    ///
    /// # Errors
    /// It hangs.
    pub async fn storing<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        timeout(self.step, work).await.map_err(|_| {
            tracing::error!(target: FAULT_TARGET, "the object store did not take an input image in time");
            let message = "the input images could not be stored in time; try again";
            Refusal::new(Kind::Unavailable, message)
        })
    }

    /// Does the whole work.
    ///
    /// # Errors
    /// It fails, or the time of the call is up.
    pub async fn whole<T>(
        &self,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let late = |_| {
            let message = "the request body did not arrive within the time of the call";
            Refusal::new(Kind::Deadline, message)
        };
        timeout_at(self.until, work).await.map_err(late)?
    }

    /// When draining a refused body ends.
    pub fn end(&self) -> Instant {
        Instant::now() + self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    fn timeouts(until: u64) -> BodyTimeouts {
        BodyTimeouts {
            step: Duration::from_secs(30),
            until: Instant::now() + Duration::from_secs(until),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_side_is_blamed_for_its_own_silence() {
        let timeouts = timeouts(280);
        let arrival = async { timeouts.arrival(pending::<()>()).await };
        assert_eq!(
            timeouts.whole(arrival).await.unwrap_err().kind,
            Kind::Invalid
        );
        let storing = async { timeouts.storing(pending::<()>()).await };
        let refusal = timeouts.whole(storing).await.unwrap_err();
        assert_eq!(refusal.kind, Kind::Unavailable);
        assert!(refusal.retry_after.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_take_longer_than_its_steps_and_no_longer_than_the_call() {
        let slow = |timeouts: BodyTimeouts, steps: u64| async move {
            for _ in 0..steps {
                timeouts
                    .arrival(tokio::time::sleep(Duration::from_secs(20)))
                    .await?;
            }
            Ok(())
        };
        let patient = timeouts(280);
        assert_eq!(patient.whole(slow(patient, 10)).await, Ok(()));
        let hurried = timeouts(100);
        let refusal = hurried.whole(slow(hurried, 10)).await.unwrap_err();
        assert_eq!(refusal.kind, Kind::Deadline);
    }
}
