//! The clock of a node. It follows the database's clock, so the nodes' own clocks need not agree.
//!
//! Between two queries this machine's monotonic clock advances the time, so setting the machine's wall clock causes no jump. The
//! error is at most half a round trip.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tintype_actors::clock::Clock;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError};
use tokio::time::sleep;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// A query that takes longer is too inexact to use.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(1);
/// The clock stands still instead of going back by up to this much. It follows a larger step back.
const MAX_SMOOTHED_MILLIS: i64 = 1_000;
/// Above this difference from the machine's clock the start logs a warning: the bucket and webhook receivers may refuse requests.
const WARN_ABOVE_MILLIS: i64 = 5_000;

struct State {
    /// The database's time in milliseconds when this machine's clock showed `read_at`.
    database_time: i64,
    read_at: Instant,
    last_returned: i64,
}

/// Starts a clock that follows the engine's database. `None` if the engine has no database.
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
    if difference.abs() > WARN_ABOVE_MILLIS {
        tracing::warn!(
            seconds = difference / 1_000,
            "the clock of this machine differs from the database's clock, which is used; synchronize it with NTP"
        );
    }
    let (shared, engine) = (Arc::downgrade(&state), Arc::downgrade(engine));
    actix_web::rt::spawn(async move {
        loop {
            sleep(POLL_INTERVAL).await;
            let (Some(state), Some(engine)) = (shared.upgrade(), engine.upgrade()) else {
                return;
            };
            let began = Instant::now();
            // While the database is unavailable, the monotonic clock advances the time.
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
    fn new(database_time: i64, began: Instant, ended: Instant) -> Self {
        Self {
            database_time,
            read_at: began + ended.duration_since(began) / 2,
            last_returned: i64::MIN,
        }
    }

    /// Adopts the time that the database returned to a query that began and ended at these instants.
    fn correct(&mut self, database_time: i64, began: Instant, ended: Instant) {
        if ended.duration_since(began) <= MAX_ROUND_TRIP {
            *self = Self {
                last_returned: self.last_returned,
                ..Self::new(database_time, began, ended)
            };
        }
    }

    fn now(&mut self) -> i64 {
        self.at(Instant::now())
    }

    fn at(&mut self, instant: Instant) -> i64 {
        let since = instant.saturating_duration_since(self.read_at).as_millis();
        let now = self.database_time + i64::try_from(since).unwrap_or(0);
        self.last_returned = match self.last_returned.saturating_sub(now) {
            1..=MAX_SMOOTHED_MILLIS => self.last_returned,
            _ => now,
        };
        self.last_returned
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
        assert_eq!(state.at(after(1_510)), 11_200, "the query took too long");
        state.correct(5_000, after(1_510), after(1_510));
        assert_eq!(state.at(after(1_510)), 5_000);
        state.correct(50_000, after(1_510), after(1_510));
        assert_eq!(state.at(after(1_510)), 50_000);
    }
}
