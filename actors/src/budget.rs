//! The time of one run. It passes while something is worked on, and never while the run waits for a place: how long others take
//! is no fault of a job's.

use crate::generator::GenerateError;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The time that a run has, and what is left of it.
#[derive(Debug)]
pub struct Budget {
    whole: Duration,
    left: Duration,
}

impl Budget {
    /// The whole of it.
    pub fn new(whole: Duration) -> Self {
        Self { whole, left: whole }
    }

    /// What is left.
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Works for as long as there is time; `None` when that was not enough.
    pub async fn work<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let began = Instant::now();
        let outcome = timeout(self.left, work).await.ok();
        self.left = self.left.saturating_sub(began.elapsed());
        outcome
    }

    /// Waits before another try. False, at once, where the wait would take all of the time that is left.
    pub async fn wait(&mut self, time: Duration) -> bool {
        let fits = time < self.left;
        if fits {
            sleep(time).await;
            self.left -= time;
        }
        fits
    }

    /// What is told of a run whose time is over.
    pub fn over(&self) -> GenerateError {
        let seconds = self.whole.as_secs();
        GenerateError::TimedOut(format!("no picture was made within {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_work_and_the_waits_between_tries_take_time() {
        let seconds = Duration::from_secs;
        let mut budget = Budget::new(seconds(10));
        assert_eq!(budget.work(async { 7 }).await, Some(7));
        sleep(seconds(3_600)).await;
        assert_eq!(budget.left(), seconds(10));
        assert!(budget.work(sleep(seconds(4))).await.is_some());
        assert!(budget.wait(seconds(2)).await);
        assert!(!budget.wait(seconds(4)).await, "nothing would be left");
        assert_eq!(budget.left(), seconds(4));
        assert!(budget.work(std::future::pending::<()>()).await.is_none());
        assert_eq!(budget.left(), Duration::ZERO);
        assert!(budget.work(sleep(seconds(1))).await.is_none());
        assert_eq!(budget.over().to_string(), "no picture was made within 10 s");
    }
}
