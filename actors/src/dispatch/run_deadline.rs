//! The deadline of one run. Its clock runs while the run works and stops while the run waits for a slot, because other jobs cause that
//! wait. Pauses have a clock of their own with the same limit, so a pause that ends in time leaves the run its whole time to work.

use crate::ports::GenerateError;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

#[derive(Debug)]
pub struct RunDeadline {
    whole: Duration,
    left: Duration,
    pause_left: Duration,
}

impl RunDeadline {
    pub fn new(whole: Duration) -> Self {
        Self {
            whole,
            left: whole,
            pause_left: whole,
        }
    }

    pub fn time_left(&self) -> Duration {
        self.left
    }

    /// Runs `work` until it ends or the deadline passes; `None` in the latter case.
    pub async fn work<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        within(&mut self.left, work).await
    }

    /// Waits for the end of a pause, or for what `wait` waits for besides; `None` when the pauses of the run have taken as long as a
    /// run may work.
    pub async fn pause<T>(&mut self, wait: impl Future<Output = T>) -> Option<T> {
        within(&mut self.pause_left, wait).await
    }

    /// Waits before another attempt. Returns false at once if the wait would use up the time that is left.
    pub async fn wait(&mut self, time: Duration) -> bool {
        let fits = time < self.left;
        if fits {
            sleep(time).await;
            self.left -= time;
        }
        fits
    }

    /// The error of a run that has passed its deadline.
    pub fn exceeded(&self) -> GenerateError {
        let seconds = self.whole.as_secs();
        GenerateError::TimedOut(format!("no image was generated within {seconds} s"))
    }
}

async fn within<T>(left: &mut Duration, work: impl Future<Output = T>) -> Option<T> {
    let began = Instant::now();
    let outcome = timeout(*left, work).await.ok();
    *left = left.saturating_sub(began.elapsed());
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_work_and_waits_between_tries_count_against_the_deadline() {
        let seconds = Duration::from_secs;
        let mut deadline = RunDeadline::new(seconds(10));
        assert_eq!(deadline.work(async { 7 }).await, Some(7));
        sleep(seconds(3_600)).await;
        assert_eq!(deadline.time_left(), seconds(10));
        assert!(deadline.work(sleep(seconds(4))).await.is_some());
        assert!(deadline.wait(seconds(2)).await);
        assert!(!deadline.wait(seconds(4)).await, "nothing would be left");
        assert_eq!(deadline.time_left(), seconds(4));
        assert!(deadline.work(std::future::pending::<()>()).await.is_none());
        assert_eq!(deadline.time_left(), Duration::ZERO);
        assert!(deadline.work(sleep(seconds(1))).await.is_none());
        assert_eq!(
            deadline.exceeded().to_string(),
            "no image was generated within 10 s"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_leave_the_time_to_work_and_have_the_same_limit() {
        let seconds = Duration::from_secs;
        let mut deadline = RunDeadline::new(seconds(10));
        assert!(deadline.pause(sleep(seconds(6))).await.is_some());
        assert_eq!(deadline.time_left(), seconds(10));
        assert!(deadline.work(sleep(seconds(9))).await.is_some());
        assert!(deadline.pause(sleep(seconds(6))).await.is_none());
        assert_eq!(deadline.time_left(), seconds(1));
    }
}
