//! Timeouts of reading a body: one for each step of the caller or the object store, and one for the whole request.

use crate::application::settings::Settings;
use crate::compat::refusal::{Kind, Refusal};
use crate::objects::FAULT_TARGET;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Clones share the body.
#[derive(Clone, Debug)]
pub struct BodyTimeouts {
    step: Duration,
    deadline: Instant,
    /// A read step timed out.
    is_silent: Rc<Cell<bool>>,
}

impl BodyTimeouts {
    pub fn new(settings: &Settings, deadline: Instant) -> Self {
        Self {
            step: settings.config.server.body_timeout(),
            deadline,
            is_silent: Rc::default(),
        }
    }

    /// Waits for the next data of the caller.
    ///
    /// # Errors
    /// No data arrived within the step timeout.
    pub async fn read_step<T>(&self, next: impl Future<Output = T>) -> Result<T, Refusal> {
        timeout(self.step, next).await.map_err(|_| {
            self.is_silent.set(true);
            let seconds = self.step.as_secs();
            Refusal::body(format!(
                "the request body is incomplete: no data for {seconds} s"
            ))
        })
    }

    /// Waits for the object store.
    ///
    /// # Errors
    /// The object store did not respond within the step timeout.
    pub async fn store_step<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        timeout(self.step, work).await.map_err(|_| {
            tracing::error!(target: FAULT_TARGET, "timeout while storing an input image");
            let message = "the input images could not be stored in time; try again";
            Refusal::new(Kind::Unavailable, message)
        })
    }

    /// # Errors
    /// Those of `work`, and `Deadline` if the request exceeds its deadline.
    pub async fn with_deadline<T>(
        &self,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let deadline_exceeded = |_| {
            let message = "the request body did not arrive before the deadline of the request";
            Refusal::new(Kind::Deadline, message)
        };
        timeout_at(self.deadline, work)
            .await
            .map_err(deadline_exceeded)?
    }

    /// The deadline for draining a refused body. It has passed if the caller is silent or the request exceeds its deadline, because then
    /// the refusal is due.
    pub fn drain_deadline(&self) -> Instant {
        let now = Instant::now();
        match self.is_silent.get() {
            true => now,
            false => self.deadline.min(now + self.step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::request_body::drain::drain;
    use futures_util::stream;
    use std::future::pending;

    fn timeouts(deadline: u64) -> BodyTimeouts {
        BodyTimeouts {
            step: Duration::from_secs(30),
            deadline: Instant::now() + Duration::from_secs(deadline),
            is_silent: Rc::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_blames_the_side_that_is_silent() {
        let timeouts = timeouts(280);
        let read_step = async { timeouts.read_step(pending::<()>()).await };
        assert_eq!(
            timeouts.with_deadline(read_step).await.unwrap_err().kind,
            Kind::Invalid
        );
        let store_step = async { timeouts.store_step(pending::<()>()).await };
        let refusal = timeouts.with_deadline(store_step).await.unwrap_err();
        assert_eq!(refusal.kind, Kind::Unavailable);
        assert!(refusal.retry_after.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_take_longer_than_one_step_but_not_longer_than_the_request() {
        let slow = |timeouts: BodyTimeouts, steps: u64| async move {
            for _ in 0..steps {
                timeouts
                    .read_step(tokio::time::sleep(Duration::from_secs(20)))
                    .await?;
            }
            Ok(())
        };
        let long = timeouts(280);
        assert_eq!(long.with_deadline(slow(long.clone(), 10)).await, Ok(()));
        let short = timeouts(100);
        let refusal = short
            .with_deadline(slow(short.clone(), 10))
            .await
            .unwrap_err();
        assert_eq!(refusal.kind, Kind::Deadline);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_for_slowness_is_sent_at_once_and_others_after_a_step_or_at_the_deadline() {
        let drain_seconds = async |timeouts: &BodyTimeouts| {
            let begun = Instant::now();
            drain(&mut stream::pending(), timeouts.drain_deadline()).await;
            begun.elapsed().as_secs()
        };
        let invalid = timeouts(50);
        assert_eq!(drain_seconds(&invalid).await, 30);
        assert_eq!(drain_seconds(&invalid).await, 20);
        let silent = timeouts(280);
        silent.read_step(pending::<()>()).await.unwrap_err();
        assert_eq!(drain_seconds(&silent).await, 0);
        let late = timeouts(20);
        let read = late.read_step(pending::<()>());
        assert_eq!(
            late.with_deadline(read).await.unwrap_err().kind,
            Kind::Deadline
        );
        assert_eq!(drain_seconds(&late).await, 0);
    }
}
