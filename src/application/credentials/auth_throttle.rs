//! Delays repeated failed authentication. Correct credentials are never refused or delayed.
//!
//! A delay does not stop an attacker who disconnects without waiting. Expensive password hashes and long random tokens do. The delay
//! slows down honest clients with wrong credentials, and so limits the log.

use crate::application::core::call_origin::CallOrigin;
use crate::application::limits::rate_limit::Elapsed;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::person::Email;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, watch};
use tokio::time::sleep;

/// Failures count for this long after the first one.
const WINDOW: Duration = Duration::from_secs(900);
/// Failures of one source within the window that are answered without a delay.
const UNDELAYED_FAILURES: u32 = 10;
/// Delay of each further refusal. The refusals of one source wait one after the other.
const DELAY: Duration = Duration::from_secs(1);
/// How often a waiting refusal reads the clock.
const STEP: Duration = Duration::from_millis(100);
/// Each waiting refusal holds a connection and a request. Refusals beyond this number are answered without a delay.
const MAX_WAITING: usize = 8_192;
/// Sources in the table.
const CAPACITY: usize = 50_000;
/// Of IPv6 the /64 counts as one source, which providers assign to a host as a whole.
const HOST_BYTES: usize = 8;
/// Minimum time between two log lines about one source.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// A network that sends wrong credentials, or an email address whose password is tried.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Source {
    Network([u8; 16]),
    Email(String),
    /// Calls without an address, as over a Unix socket.
    Unknown,
}

pub struct AuthThrottle {
    elapsed: Elapsed,
    table: Mutex<Table>,
    waiting: Semaphore,
}

#[derive(Default)]
struct Table {
    sources: HashMap<Source, Failures>,
    /// Sources by their last failure, oldest first. The first one is evicted.
    by_age: BTreeMap<u64, Source>,
    next: u64,
}

struct Failures {
    first: Duration,
    count: u32,
    age: u64,
    logged: Option<Duration>,
    /// The waiting refusal holds this.
    delay_lock: Arc<AsyncMutex<()>>,
}

struct FailureCount {
    count: u32,
    is_logged: bool,
    delay_lock: Arc<AsyncMutex<()>>,
}

impl AuthThrottle {
    pub fn new(elapsed: Elapsed) -> Self {
        Self {
            elapsed,
            table: Mutex::default(),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// Counts and logs a failed attempt. Returns when the caller may answer it: after a delay if the network or the email address
    /// has too many failures.
    pub async fn record_failure(
        &self,
        what: &'static str,
        origin: &CallOrigin,
        email: Option<&Email>,
        stopping: &watch::Sender<bool>,
    ) {
        let address = origin.caller();
        let network = address.map_or(Source::Unknown, |it| {
            Source::Network(network(it, HOST_BYTES))
        });
        let email = email.map(|it| Source::Email(it.as_str().to_owned()));
        let now = (self.elapsed)();
        let (network, email) = {
            let mut table = self.table.lock();
            let network = table.count(network, now);
            (network, email.map(|it| table.count(it, now)))
        };
        if network.is_logged {
            let address = address.map(tracing::field::display);
            let request_id = origin.request.as_deref();
            tracing::warn!(
                request_id,
                address,
                failures = network.count,
                "failed {what}"
            );
        }
        let slow = [Some(network), email].into_iter().flatten();
        let delayed: Vec<_> = slow.filter(|it| it.count > UNDELAYED_FAILURES).collect();
        if delayed.is_empty() {
            return;
        }
        let mut stopping = stopping.subscribe();
        tokio::select! {
            () = self.wait(&delayed) => {}
            _ = stopping.wait_for(|it| *it) => {}
        }
    }

    async fn wait(&self, delayed: &[FailureCount]) {
        let Ok(_slot) = self.waiting.try_acquire() else {
            return;
        };
        let mut held = Vec::with_capacity(delayed.len());
        // Always lock the network before the email address, to avoid a deadlock.
        for counted in delayed {
            held.push(counted.delay_lock.lock().await);
        }
        let until = (self.elapsed)() + DELAY;
        while let Some(remaining) = until
            .checked_sub((self.elapsed)())
            .filter(|it| !it.is_zero())
        {
            sleep(remaining.min(STEP)).await;
        }
    }
}

impl Table {
    fn count(&mut self, source: Source, now: Duration) -> FailureCount {
        let age = self.next;
        self.next += 1;
        let found = self.sources.entry(source.clone());
        let failures = found.or_insert_with(|| Failures::none(now));
        self.by_age.remove(&failures.age);
        self.by_age.insert(age, source);
        failures.age = age;
        if now.saturating_sub(failures.first) >= WINDOW {
            (failures.first, failures.count) = (now, 0);
        }
        failures.count = failures.count.saturating_add(1);
        let is_logged = failures
            .logged
            .is_none_or(|it| now.saturating_sub(it) >= LOG_INTERVAL);
        if is_logged {
            failures.logged = Some(now);
        }
        let counted = FailureCount {
            count: failures.count,
            is_logged,
            delay_lock: Arc::clone(&failures.delay_lock),
        };
        while self.sources.len() > CAPACITY
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.sources.remove(&oldest);
        }
        counted
    }
}

impl Failures {
    fn none(now: Duration) -> Self {
        Self {
            first: now,
            count: 0,
            // Not in `by_age`: real ages start at 0.
            age: u64::MAX,
            logged: None,
            delay_lock: Arc::default(),
        }
    }
}

/// The IPv4 address, or the first bytes of the IPv6 address.
pub fn network(address: IpAddr, ipv6_bytes: usize) -> [u8; 16] {
    let v6 = match address {
        IpAddr::V4(it) => return it.to_ipv6_mapped().octets(),
        IpAddr::V6(it) => it,
    };
    if v6.to_ipv4_mapped().is_some() {
        return v6.octets();
    }
    let mut octets = v6.octets();
    octets[ipv6_bytes..].fill(0);
    octets
}

#[cfg(test)]
mod tests;
