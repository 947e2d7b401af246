//! Waits for a prompt to end by polling, which survives lost connections. The websocket only triggers polls and brings progress.

use super::progress::PromptEvent;
use super::prompt_events::PromptEvents;
use super::prompt_status::PromptStatus;
use super::server::Server;
use crate::backends::preview::preview;
use crate::backends::upstream::{Fault, without_refusal};
use std::time::Duration;
use tintype_actors::ports::GenerateError;
use tintype_actors::ports::Progress;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// For one poll. ComfyUI answers late while it loads a model.
const POLL_TIMEOUT: Duration = Duration::from_secs(60);
/// A container or proxy that restarts takes some seconds.
const MAX_OUTAGE: Duration = Duration::from_secs(60);

/// The time of the first of the latest consecutive failures.
#[derive(Default)]
struct Outage(Option<Instant>);

impl Outage {
    /// Records a failed poll. Has the outage reached its limit?
    fn record_failure(&mut self, at: Instant) -> bool {
        let since = *self.0.get_or_insert(at);
        at.saturating_duration_since(since) >= MAX_OUTAGE
    }

    fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    fn end(&mut self) {
        self.0 = None;
    }
}

/// Returns the final status, never [`PromptStatus::Live`].
///
/// # Errors
/// `Transient` when the server has lost the prompt in a restart, or has not answered for [`MAX_OUTAGE`].
pub async fn wait(
    server: &Server,
    id: &str,
    events: &mut PromptEvents,
    progress: &Progress,
) -> Result<PromptStatus, GenerateError> {
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outage = Outage::default();
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = polls.tick() => PromptEvent::Ended,
        };
        match event {
            PromptEvent::Fraction(fraction) => {
                progress.report(fraction);
                continue;
            }
            PromptEvent::Preview(image) => {
                if progress.is_watched()
                    && let Some(preview) = preview(&image)
                {
                    progress.show(preview);
                }
                continue;
            }
            PromptEvent::Ended => {}
        }
        let found = timeout(POLL_TIMEOUT, server.find(id)).await;
        match found.unwrap_or(Err(Fault::TimedOut)) {
            Ok(Some((_, PromptStatus::Live))) => outage.end(),
            Ok(Some((_, ended))) => return Ok(ended),
            // A restart would have closed the socket, or failed polls if the whole machine was down. So a user removed the prompt from
            // the queue.
            Ok(None) if !outage.has_begun() && events.is_open() => {
                return Ok(PromptStatus::Canceled);
            }
            Ok(None) => {
                return Err(GenerateError::Transient {
                    reason: "the image generator restarted and lost the job".into(),
                    retry_after: None,
                });
            }
            Err(fault) => {
                if outage.record_failure(Instant::now()) {
                    return Err(without_refusal(fault));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_of_outage_ends_the_wait_and_occasional_faults_do_not() {
        let began = Instant::now();
        let mut outage = Outage::default();
        let mut record_failure =
            |seconds| outage.record_failure(began + Duration::from_secs(seconds));
        assert_eq!([5, 40, 64].map(&mut record_failure), [false; 3]);
        assert!(record_failure(65));
        outage.end();
        let mut record_failure =
            |seconds| outage.record_failure(began + Duration::from_secs(seconds));
        assert_eq!(
            [66, 125, 126].map(&mut record_failure),
            [false, false, true]
        );
    }
}
