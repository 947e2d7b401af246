//! The load generators. One is a closed loop: each connection sends the next request as soon as it has the last answer. The
//! other sends at fixed moments, and skips a request whose connection still waits for an answer.

use crate::wire::{Answer, Wire};
use anyhow::ensure;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// The latencies of one kind of call.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn add(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    pub fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The percentile `share` in milliseconds.
    pub fn percentile(&mut self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let at = ((self.0.len() as f64 * share) as usize).min(last);
        if self.0.is_empty() {
            return 0.0;
        }
        let (_, found, _) = self.0.select_nth_unstable(at);
        found.as_secs_f64() * 1e3
    }
}

/// The results of a run, by kind of call.
pub struct Outcome<const KINDS: usize> {
    pub kinds: [Latencies; KINDS],
    /// Answered calls outside the measured time.
    pub unmeasured: [usize; KINDS],
    /// The measured time: of a closed loop, from the first request to the last answer, without connecting.
    pub took: Duration,
}

impl<const KINDS: usize> Outcome<KINDS> {
    fn begin() -> Self {
        Self {
            kinds: std::array::from_fn(|_| Latencies::default()),
            unmeasured: [0; KINDS],
            took: Duration::ZERO,
        }
    }

    fn merge(&mut self, other: Self) {
        for (all, of_one) in self.kinds.iter_mut().zip(other.kinds) {
            all.extend(&of_one);
        }
        for (all, of_one) in self.unmeasured.iter_mut().zip(other.unmeasured) {
            *all += of_one;
        }
    }

    /// Calls of one kind per second.
    pub fn rate(&self, kind: usize) -> f64 {
        self.kinds[kind].count() as f64 / self.took.as_secs_f64()
    }

    pub fn calls(&self) -> usize {
        self.kinds.iter().map(Latencies::count).sum()
    }
}

/// The repeated work of a connection.
pub trait Caller<const KINDS: usize>: 'static {
    /// Makes the n-th call, checks the answer, and returns its kind.
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize>;
}

/// A caller with one kind of request and one expected status.
pub struct Same<F> {
    pub expected: &'static str,
    /// Returns the bytes of the n-th request.
    pub request: F,
}

impl<F: Fn(usize) -> Rc<[u8]> + 'static> Caller<1> for Same<F> {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        let request = (self.request)(number);
        wire.exchange(&request).await?.expect(self.expected)?;
        Ok(0)
    }
}

/// Runs a closed loop over `connections` for `time`.
pub fn run<const KINDS: usize, C: Caller<KINDS>>(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    caller: impl Fn(usize) -> C,
) -> anyhow::Result<Outcome<KINDS>> {
    all(address, connections, |connection, mut wire| {
        let (mut caller, until) = (caller(connection), Instant::now() + time);
        async move {
            let mut outcome = Outcome::begin();
            for number in 0.. {
                let began = Instant::now();
                if began >= until {
                    break;
                }
                let kind = caller.call(&mut wire, number).await?;
                outcome.kinds[kind].add(began.elapsed());
            }
            anyhow::Ok(outcome)
        }
    })
}

/// Time until the first request of a schedule.
const LEAD: Duration = Duration::from_millis(200);

/// Requests at fixed moments.
#[derive(Clone, Copy)]
pub struct Schedule {
    /// The requests are spread over these.
    pub connections: usize,
    /// Requests per second.
    pub rate: f64,
    /// Until the measured time begins.
    pub warm_up: Duration,
    /// Answers within this time count: neither the first calls of new connections, nor the last answers, when nothing is
    /// offered any more.
    pub time: Duration,
}

/// Sends the n-th request of a connection, built by `request`, at its fixed moment. Skips it if the connection still waits for
/// an answer, as a caller without an answer would not call again. `kind` checks an answer.
pub fn run_schedule<const KINDS: usize>(
    address: SocketAddr,
    schedule: Schedule,
    request: impl Fn(usize, usize) -> Rc<[u8]> + 'static,
    kind: fn(&Answer<'_>) -> anyhow::Result<usize>,
) -> anyhow::Result<Outcome<KINDS>> {
    let Schedule {
        connections,
        rate,
        warm_up,
        time,
    } = schedule;
    let request = Rc::new(request);
    let end = warm_up + time;
    let mut start = None;
    let mut outcome = all(address, connections, |connection, mut wire| {
        let start = *start.get_or_insert_with(|| Instant::now() + LEAD);
        let request = Rc::clone(&request);
        async move {
            let mut outcome = Outcome::begin();
            let mut answered = start;
            for number in 0.. {
                let after = (number * connections + connection) as f64 / rate;
                if after >= end.as_secs_f64() {
                    break;
                }
                let due = start + Duration::from_secs_f64(after);
                if due < answered {
                    continue;
                }
                tokio::time::sleep_until(due.into()).await;
                let bytes = request(connection, number);
                let kind = kind(&wire.exchange(&bytes).await?)?;
                answered = Instant::now();
                if (start + warm_up..start + end).contains(&answered) {
                    outcome.kinds[kind].add(answered - due);
                } else {
                    outcome.unmeasured[kind] += 1;
                }
            }
            anyhow::Ok(outcome)
        }
    })?;
    outcome.took = time;
    Ok(outcome)
}

/// Opens all connections, then runs their tasks concurrently on this thread.
fn all<const KINDS: usize, F>(
    address: SocketAddr,
    connections: usize,
    mut work: impl FnMut(usize, Wire) -> F,
) -> anyhow::Result<Outcome<KINDS>>
where
    F: Future<Output = anyhow::Result<Outcome<KINDS>>> + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async move {
        let mut wires = Vec::with_capacity(connections);
        for _ in 0..connections {
            wires.push(Wire::open(address).await?);
        }
        let began = Instant::now();
        let mut tasks = Vec::with_capacity(connections);
        for (connection, wire) in wires.into_iter().enumerate() {
            tasks.push(tokio::task::spawn_local(work(connection, wire)));
        }
        let mut outcome = Outcome::begin();
        for task in tasks {
            outcome.merge(task.await??);
        }
        outcome.took = began.elapsed();
        ensure!(outcome.calls() > 0, "nothing was answered");
        Ok(outcome)
    })
}
