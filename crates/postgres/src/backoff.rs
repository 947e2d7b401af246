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
    /// Whether these failures count as an outage of the database.
    is_outage: bool,
    delay: Duration,
}

impl Backoff {
    pub fn new(limit: Duration, all: &Arc<Outages>) -> Self {
        Self {
            limit,
            all: Arc::clone(all),
            began: None,
            is_outage: false,
            delay: SHORTEST_DELAY,
        }
    }

    /// Records that the database has responded.
    pub fn record_response(&mut self) {
        if let Some(began) = self.began.take() {
            self.end_outage();
            if began.elapsed() > LONGEST_DELAY {
                tracing::info!("the database is reachable again");
            }
        }
        self.delay = SHORTEST_DELAY;
    }

    fn end_outage(&mut self) {
        if std::mem::take(&mut self.is_outage) {
            self.all.end();
        }
    }

    /// Waits before the next attempt. A lock conflict is no outage, but has the same limit.
    ///
    /// # Errors
    /// The failures exceed the limit: the engine has failed.
    pub async fn pause(&mut self, fault: &Fault) -> Result<(), EngineError> {
        let limit = self.limit;
        if self.began.is_none() {
            tracing::warn!(
                reason = fault.text(),
                limit_seconds = limit.as_secs(),
                "a database request failed; retrying"
            );
        }
        let mut since = Instant::now();
        if !self.is_outage && !fault.is_lock_conflict() {
            self.is_outage = true;
            since = self.all.begin();
        }
        let began = *self.began.get_or_insert(since);
        if began.elapsed() + self.delay > limit {
            return Err(EngineError::Failed(format!(
                "the database has been unreachable for {} s (`[storage] outage_seconds`): {}",
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
        self.end_outage();
    }
}
