//! Waits for a prompt to end: by asking, which survives lost connections. The websocket only says when to ask, and how far
//! it is.

use super::meter::Word;
use super::server::Server;
use super::standing::Standing;
use super::watch::Watch;
use crate::backends::upstream::Fault;
use std::time::Duration;
use tintype_actors::generator::GenerateError;
use tintype_actors::progress::Progress;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(500);
/// For one question. Python answers late while it loads a model.
const PATIENCE: Duration = Duration::from_secs(60);
/// Questions in a row that may go unanswered.
const MAX_FAULTS: u32 = 3;

/// How a prompt ended: never [`Standing::Live`].
///
/// # Errors
/// `Transient` when the server knows nothing of the prompt any more, as after a restart of it, or does not answer.
pub async fn wait(
    server: &Server,
    id: &str,
    watch: &mut Watch,
    progress: &Progress,
) -> Result<Standing, GenerateError> {
    let mut pause = interval(PAUSE);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut faults = 0;
    loop {
        let word = tokio::select! {
            word = watch.next() => word,
            _ = pause.tick() => Word::Over,
        };
        if let Word::Fraction(fraction) = word {
            progress.report(fraction);
            continue;
        }
        let found = timeout(PATIENCE, server.find(id)).await;
        match found.unwrap_or(Err(Fault::TimedOut)) {
            Ok(Some((_, Standing::Live))) => faults = 0,
            Ok(Some((_, ended))) => return Ok(ended),
            Ok(None) => {
                return Err(GenerateError::Transient {
                    reason: "the image generator was restarted and has lost the picture".into(),
                    retry_after: None,
                });
            }
            Err(fault) => {
                faults += 1;
                if faults == MAX_FAULTS {
                    return Err(super::told(fault));
                }
            }
        }
    }
}
