//! Waits for a prompt to end: by asking, which survives lost connections. The websocket only says when to ask, and how far
//! it is.

use super::progress::Word;
use super::prompt_status::PromptStatus;
use super::server::Server;
use super::watch::Watch;
use crate::backends::preview::preview;
use crate::backends::upstream::Fault;
use std::time::Duration;
use tintype_actors::ports::GenerateError;
use tintype_actors::ports::Progress;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(500);
/// For one question. Python answers late while it loads a model.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the server may go on not answering. A container that is started anew, or a proxy before it, takes some seconds.
const MOST_SILENCE: Duration = Duration::from_secs(60);

/// Since when the server has not answered.
#[derive(Default)]
struct Silence(Option<Instant>);

impl Silence {
    /// It has not answered. Is that to be taken for an end?
    fn goes_on(&mut self, at: Instant) -> bool {
        let since = *self.0.get_or_insert(at);
        at.saturating_duration_since(since) >= MOST_SILENCE
    }

    /// It has answered.
    fn ends(&mut self) {
        self.0 = None;
    }
}

/// How a prompt ended: never [`PromptStatus::Live`].
///
/// # Errors
/// `Transient` when the server knows nothing of the prompt any more, as after a restart of it, or does not answer for a while.
pub async fn wait(
    server: &Server,
    id: &str,
    watch: &mut Watch,
    progress: &Progress,
) -> Result<PromptStatus, GenerateError> {
    let mut pause = interval(PAUSE);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut silence = Silence::default();
    loop {
        let word = tokio::select! {
            word = watch.next() => word,
            _ = pause.tick() => Word::Over,
        };
        match word {
            Word::Fraction(fraction) => {
                progress.report(fraction);
                continue;
            }
            Word::Preview(image) => {
                if progress.is_watched()
                    && let Some(preview) = preview(&image)
                {
                    progress.show(preview);
                }
                continue;
            }
            Word::Over => {}
        }
        let found = timeout(PATIENCE, server.find(id)).await;
        match found.unwrap_or(Err(Fault::TimedOut)) {
            Ok(Some((_, PromptStatus::Live))) => silence.ends(),
            Ok(Some((_, ended))) => return Ok(ended),
            Ok(None) => {
                return Err(GenerateError::Transient {
                    reason: "the image generator was restarted and has lost the picture".into(),
                    retry_after: None,
                });
            }
            Err(fault) => {
                if silence.goes_on(Instant::now()) {
                    return Err(super::to_generate_error(fault));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_up_after_a_minute_of_silence_and_not_of_faults_now_and_then() {
        let began = Instant::now();
        let mut silence = Silence::default();
        let mut goes_on = |seconds| silence.goes_on(began + Duration::from_secs(seconds));
        assert_eq!([5, 40, 64].map(&mut goes_on), [false; 3]);
        assert!(goes_on(65));
        silence.ends();
        let mut goes_on = |seconds| silence.goes_on(began + Duration::from_secs(seconds));
        assert_eq!([66, 125, 126].map(&mut goes_on), [false, false, true]);
    }
}
