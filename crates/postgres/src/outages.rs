//! The duration of the current outage, over all connections.
//!
//! A database that is down closes or refuses connections. A stalled one, or a network that drops packets, leaves requests
//! without any response, so silence counts as an outage before [`RESPONSE_TIMEOUT`] ends the requests.

use crate::fault::Fault;
use crate::session::RESPONSE_TIMEOUT;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Silence of this length is an outage. Other requests are answered while one waits for a lock or for a sync.
const SILENT_AFTER: Duration = Duration::from_secs(3);

#[derive(Default)]
pub struct Outages(Mutex<Ongoing>);

#[derive(Default)]
struct Ongoing {
    /// Connections that do not work.
    count: usize,
    since: Option<Instant>,
    /// Of all requests.
    requests: Silence,
    /// Of the requests that commit. A database that waits for a standby or for its disk still answers reads.
    commits: Silence,
}

#[derive(Default)]
struct Silence {
    /// Requests that await a response.
    in_flight: usize,
    /// The last response, or the first request after it; `None` if no request awaits a response or lacks one.
    since: Option<Instant>,
}

impl Silence {
    fn duration(&self) -> Option<Duration> {
        let silent = self.since.map(|since| since.elapsed());
        silent.filter(|silence| *silence >= SILENT_AFTER)
    }
}

/// One silence of all.
type Which = fn(&mut Ongoing) -> &mut Silence;

impl Outages {
    /// How long some connection has not worked, or no request has got a response; `None` if all work.
    pub fn duration(&self) -> Option<Duration> {
        self.change_ongoing(|it| {
            let broken = it.since.map(|since| since.elapsed());
            broken.max(it.requests.duration())
        })
    }

    /// As [`Outages::duration`], also if only commits have got no response.
    pub fn duration_of_writes(&self) -> Option<Duration> {
        let silent = self.change_ongoing(|it| it.commits.duration());
        self.duration().max(silent)
    }

    /// Waits for the response to a request, at most [`RESPONSE_TIMEOUT`].
    pub async fn response<T, E: Into<Fault>>(
        &self,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Fault> {
        let response = async {
            match timeout(RESPONSE_TIMEOUT, request).await {
                Ok(outcome) => outcome.map_err(Into::into),
                Err(_) => Err(Fault::NoResponse),
            }
        };
        self.observe(|it| &mut it.requests, response).await
    }

    /// As [`Outages::response`], for a request that commits.
    pub async fn commit_response<T, E: Into<Fault>>(
        &self,
        commit: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Fault> {
        self.observe(|it| &mut it.commits, self.response(commit))
            .await
    }

    async fn observe<T>(
        &self,
        which: Which,
        response: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let in_flight = InFlight::begin(self, which);
        let outcome = response.await;
        drop(in_flight);
        if outcome.as_ref().err().is_none_or(Fault::is_response) {
            self.record_response(which);
        }
        outcome
    }

    /// Begins the outage of one connection. Returns since when the database has been silent.
    pub fn begin(&self) -> Instant {
        self.change_ongoing(|it| {
            let began = it.requests.since.unwrap_or_else(Instant::now);
            it.count += 1;
            it.since.get_or_insert(began);
            began
        })
    }

    pub fn end(&self) {
        self.change_ongoing(|it| {
            it.count -= 1;
            if it.count == 0 {
                it.since = None;
            }
        });
    }

    fn record_response(&self, which: Which) {
        let silence = self.change_ongoing(|it| {
            let silence = which(it);
            let duration = silence.duration();
            silence.since = (silence.in_flight > 0).then(Instant::now);
            duration
        });
        if let Some(silence) = silence {
            tracing::warn!(seconds = silence.as_secs(), "the database responds again");
        }
    }

    fn change_ongoing<T>(&self, change: impl FnOnce(&mut Ongoing) -> T) -> T {
        change(&mut self.0.lock())
    }
}

/// A request that awaits its response. A request without a response is repeated, so its end does not end the silence.
struct InFlight<'a>(&'a Outages, Which);

impl<'a> InFlight<'a> {
    fn begin(outages: &'a Outages, which: Which) -> Self {
        outages.change_ongoing(|it| {
            let silence = which(it);
            silence.in_flight += 1;
            silence.since.get_or_insert_with(Instant::now);
        });
        Self(outages, which)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.change_ongoing(|it| self.1(it).in_flight -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::{advance, sleep};

    type Outcome = Result<(), Fault>;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
            .block_on(test);
    }

    #[test]
    fn an_idle_database_is_not_silent() {
        run(async {
            let outages = Outages::default();
            outages
                .response(async { Outcome::Ok(()) })
                .await
                .unwrap_or_else(|_| panic!("a response"));
            advance(Duration::from_secs(60)).await;
            assert_eq!(outages.duration(), None);
        });
    }

    #[test]
    fn a_slow_request_is_no_outage_while_others_get_responses() {
        run(async {
            let outages = Outages::default();
            let slow = outages.response(pending::<Outcome>());
            let others = async {
                for _ in 0..10 {
                    let answered = outages.response(async {
                        sleep(Duration::from_secs(1)).await;
                        Outcome::Ok(())
                    });
                    assert!(answered.await.is_ok());
                    assert_eq!(outages.duration(), None);
                }
            };
            tokio::select! {
                biased;
                () = others => {}
                _ = slow => panic!("it has no response"),
            }
        });
    }

    #[test]
    fn silence_on_commits_is_an_outage_of_writes_while_reads_get_responses() {
        run(async {
            let outages = Outages::default();
            let silent = outages.commit_response(pending::<Outcome>());
            let reads = async {
                for _ in 0..4 {
                    sleep(Duration::from_millis(999)).await;
                    assert!(outages.response(async { Outcome::Ok(()) }).await.is_ok());
                    assert_eq!(outages.duration(), None);
                }
            };
            tokio::select! {
                biased;
                () = reads => {}
                _ = silent => panic!("it has no response"),
            }
            assert_eq!(
                outages.duration_of_writes(),
                Some(Duration::from_millis(4 * 999))
            );
            let commit = outages.commit_response(async { Outcome::Ok(()) });
            assert!(commit.await.is_ok());
            assert_eq!(outages.duration_of_writes(), None);
        });
    }

    #[test]
    fn a_slow_commit_is_no_outage_while_others_get_responses() {
        run(async {
            let outages = Outages::default();
            let slow = outages.commit_response(pending::<Outcome>());
            let others = async {
                for _ in 0..10 {
                    let commit = outages.commit_response(async { Outcome::Ok(()) });
                    assert!(commit.await.is_ok());
                    sleep(Duration::from_secs(1)).await;
                    assert_eq!(outages.duration_of_writes(), None);
                }
            };
            tokio::select! {
                biased;
                () = others => {}
                _ = slow => panic!("it has no response"),
            }
        });
    }

    #[test]
    fn silence_is_an_outage_from_its_begin_to_the_next_response() {
        run(async {
            let outages = Outages::default();
            let began = Instant::now();
            let silent = outages.response(pending::<Outcome>());
            let watch = async {
                sleep(SILENT_AFTER - Duration::from_millis(1)).await;
                assert_eq!(outages.duration(), None);
                sleep(Duration::from_millis(1)).await;
                assert_eq!(outages.duration(), Some(SILENT_AFTER));
                pending::<()>().await;
            };
            let fault = tokio::select! {
                outcome = silent => outcome.err(),
                () = watch => None,
            };
            assert!(matches!(fault, Some(Fault::NoResponse)));
            assert_eq!(outages.duration(), Some(RESPONSE_TIMEOUT));
            assert_eq!(outages.begin(), began, "the limit counts the silence");
            advance(Duration::from_secs(1)).await;
            let longer = RESPONSE_TIMEOUT + Duration::from_secs(1);
            assert_eq!(outages.duration(), Some(longer), "also between attempts");
            assert!(outages.response(async { Outcome::Ok(()) }).await.is_ok());
            outages.end();
            assert_eq!(outages.duration(), None);
        });
    }
}
