//! The waits between the attempts of one connection during an outage, up to a limit.

use crate::fault::Fault;
use crate::outages::Outages;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::time::Instant;

const SHORTEST_DELAY: Duration = Duration::from_millis(20);
/// Short, so that all connections are back well within a second after a restart of the database: new calls are refused as long as one of
/// them is away for longer. After an outage, nodes wait for each other's heartbeats for more than two of these pauses.
const LONGEST_DELAY: Duration = Duration::from_millis(320);

/// The failed attempts of one connection since it last worked.
pub struct Backoff {
    limit: Duration,
    all: Arc<Outages>,
    began: Option<Instant>,
    delay: Duration,
}

impl Backoff {
    pub fn new(limit: Duration, all: &Arc<Outages>) -> Self {
        Self {
            limit,
            all: Arc::clone(all),
            began: None,
            delay: SHORTEST_DELAY,
        }
    }

    /// Records that the database has responded.
    pub fn record_response(&mut self) {
        if let Some(began) = self.began.take() {
            self.all.end();
            if began.elapsed() > LONGEST_DELAY {
                tracing::info!("the database is reachable again");
            }
        }
        self.delay = SHORTEST_DELAY;
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The outage exceeds the limit: the engine has failed.
    pub async fn pause(&mut self, fault: &Fault) -> Result<(), EngineError> {
        let limit = self.limit;
        let began = match self.began {
            Some(began) => began,
            None => {
                tracing::warn!(
                    reason = fault.text(),
                    limit_seconds = limit.as_secs(),
                    "a database request failed; retrying"
                );
                *self.began.insert(self.all.begin())
            }
        };
        if began.elapsed() + self.delay > limit {
            return Err(EngineError::Failed(format!(
                "the database has been away for {} s (`[storage] outage_seconds`): {}",
                limit.as_secs(),
                fault.text()
            )));
        }
        tokio::time::sleep(self.delay).await;
        self.delay = (self.delay * 2).min(LONGEST_DELAY);
        Ok(())
    }
}

impl Drop for Backoff {
    fn drop(&mut self) {
        if self.began.is_some() {
            self.all.end();
        }
    }
}
