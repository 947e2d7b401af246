//! The clock of a node: that of the database, so that the clocks of nodes need not agree.
//!
//! Between two looks at the database the time goes on with this machine's monotonic clock, so it does not jump when the machine's own
//! clock is set. It is off by half a round trip at the most.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tintype_actors::clock::Clock;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError};
use tokio::time::sleep;

/// Between two looks at the database's clock.
const LOOK: Duration = Duration::from_secs(5);
/// A look that takes longer says too little.
const MOST_ROUND_TRIP: Duration = Duration::from_secs(1);
/// By so much the time stands still rather than going back. A database whose clock was set back further is followed.
const SMOOTHED: i64 = 1_000;
/// A difference of the machine's own clock that is worth a warning: the bucket and receivers of webhooks may refuse calls for it.
const WARN_ABOVE: i64 = 5_000;

struct State {
    /// What the database showed, and when.
    shown: i64,
    at: Instant,
    /// The last time that was told.
    told: i64,
}

/// Takes the time from the database of the engine from now on; `None` where the engine has none.
///
/// # Errors
/// The database does not answer.
pub async fn start(engine: &Arc<dyn Engine>) -> Result<Option<Clock>, EngineError> {
    let began = Instant::now();
    let Some(time) = engine.time().await? else {
        return Ok(None);
    };
    let state = Arc::new(Mutex::new(State::new(time.millis(), began, Instant::now())));
    let difference = Timestamp::now().millis() - state.lock().now();
    if difference.abs() > WARN_ABOVE {
        tracing::warn!(
            seconds = difference / 1_000,
            "the clock of this machine differs from the database's, which counts; set it by NTP"
        );
    }
    let (shared, engine) = (Arc::downgrade(&state), Arc::downgrade(engine));
    actix_web::rt::spawn(async move {
        loop {
            sleep(LOOK).await;
            let (Some(state), Some(engine)) = (shared.upgrade(), engine.upgrade()) else {
                return;
            };
            let began = Instant::now();
            // A database that is away has no time; the clock goes on meanwhile.
            if let Ok(Some(time)) = engine.time().await {
                state.lock().correct(time.millis(), began, Instant::now());
            }
        }
    });
    Ok(Some(Arc::new(move || {
        Timestamp::from_millis(state.lock().now())
    })))
}

impl State {
    fn new(shown: i64, began: Instant, ended: Instant) -> Self {
        Self {
            shown,
            at: began + ended.duration_since(began) / 2,
            told: i64::MIN,
        }
    }

    /// Takes over what the database showed at some moment between these two.
    fn correct(&mut self, shown: i64, began: Instant, ended: Instant) {
        if ended.duration_since(began) <= MOST_ROUND_TRIP {
            *self = Self {
                told: self.told,
                ..Self::new(shown, began, ended)
            };
        }
    }

    fn now(&mut self) -> i64 {
        self.at(Instant::now())
    }

    fn at(&mut self, moment: Instant) -> i64 {
        let since = moment.saturating_duration_since(self.at).as_millis();
        let now = self.shown + i64::try_from(since).unwrap_or(0);
        self.told = match self.told.saturating_sub(now) {
            1..=SMOOTHED => self.told,
            _ => now,
        };
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_corrections_never_turn_the_time_back_and_large_ones_are_followed() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut state = State::new(10_000, start, after(20));
        assert_eq!(state.at(after(10)), 10_000, "the middle of the round trip");
        assert_eq!(state.at(after(1_010)), 11_000);
        state.correct(10_700, after(1_010), after(1_010));
        assert_eq!(state.at(after(1_010)), 11_000, "it stands still");
        assert_eq!(state.at(after(1_310)), 11_000);
        assert_eq!(state.at(after(1_410)), 11_100);
        state.correct(99_000, after(1_410), after(3_000));
        assert_eq!(state.at(after(1_510)), 11_200, "too long a look");
        state.correct(5_000, after(1_510), after(1_510));
        assert_eq!(state.at(after(1_510)), 5_000);
        state.correct(50_000, after(1_510), after(1_510));
        assert_eq!(state.at(after(1_510)), 50_000);
    }
}
