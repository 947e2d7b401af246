//! Slows guesses at passwords and tokens down. The right password or token is never refused and never waits.
//!
//! A delay alone does not stop a guesser who leaves without waiting for the answer: passwords are also expensive to check, and
//! tokens have too many random bits. The delay keeps an honest client with wrong credentials, and the log, quiet.

use super::call_origin::CallOrigin;
use super::rate_limit::Elapsed;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::person::Email;
use tokio::sync::{Mutex as Turn, Semaphore, watch};
use tokio::time::sleep;

/// Failures count for so long after the first of them.
const WINDOW: Duration = Duration::from_secs(900);
/// Failures of one guesser within the window that are answered at once.
const FREE: u32 = 10;
/// How long each further refusal waits. The refusals of one guesser wait one after the other.
const DELAY: Duration = Duration::from_secs(1);
/// How often a refusal that waits looks at the clock.
const STEP: Duration = Duration::from_millis(100);
/// Refusals that wait at most, each with its connection and request. Past it they are answered at once.
const MAX_WAITING: usize = 8_192;
/// Guessers that are remembered.
const CAPACITY: usize = 50_000;
/// Two lines of the log about one guesser are so far apart.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Who guesses, or at whose password.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Guesser {
    Network([u8; 16]),
    Email(String),
    /// Calls that come from no address, as over a Unix socket.
    Unknown,
}

/// The failures of all guessers.
pub struct AuthThrottle {
    elapsed: Elapsed,
    table: Mutex<Table>,
    waiting: Semaphore,
}

#[derive(Default)]
struct Table {
    guessers: HashMap<Guesser, Failures>,
    /// Guessers by their last failure: the first is the one to evict.
    by_age: BTreeMap<u64, Guesser>,
    next: u64,
}

struct Failures {
    first: Duration,
    count: u32,
    age: u64,
    logged: Option<Duration>,
    /// Held by the refusal that waits.
    turn: Arc<Turn<()>>,
}

/// What one more failure comes to.
struct Counted {
    count: u32,
    is_logged: bool,
    turn: Arc<Turn<()>>,
}

impl AuthThrottle {
    pub fn new(elapsed: Elapsed) -> Self {
        Self {
            elapsed,
            table: Mutex::default(),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// Counts a failed attempt, logs it, and returns when it may be answered: after a delay where there were too many failures of
    /// the address, or of the e-mail address.
    pub async fn record_failure(
        &self,
        what: &'static str,
        origin: &CallOrigin,
        email: Option<&Email>,
        stopping: &watch::Sender<bool>,
    ) {
        let address = origin.caller();
        let network = address.map_or(Guesser::Unknown, |it| Guesser::Network(network(it)));
        let email = email.map(|it| Guesser::Email(it.as_str().to_owned()));
        let now = (self.elapsed)();
        let (network, email) = {
            let mut table = self.table.lock();
            let network = table.count(network, now);
            (network, email.map(|it| table.count(it, now)))
        };
        if network.is_logged {
            let address = address.map(tracing::field::display);
            tracing::warn!(address, failures = network.count, "failed {what}");
        }
        let slow = [Some(network), email].into_iter().flatten();
        let turns: Vec<_> = slow.filter(|it| it.count > FREE).collect();
        if turns.is_empty() {
            return;
        }
        let mut stopping = stopping.subscribe();
        tokio::select! {
            () = self.wait(&turns) => {}
            _ = stopping.wait_for(|it| *it) => {}
        }
    }

    /// Waits for its turn, then for the delay.
    async fn wait(&self, turns: &[Counted]) {
        let Ok(_place) = self.waiting.try_acquire() else {
            return;
        };
        let mut held = Vec::with_capacity(turns.len());
        // Networks come before e-mail addresses everywhere, so that no two refusals wait for each other.
        for counted in turns {
            held.push(counted.turn.lock().await);
        }
        let until = (self.elapsed)() + DELAY;
        while let Some(left) = until
            .checked_sub((self.elapsed)())
            .filter(|it| !it.is_zero())
        {
            sleep(left.min(STEP)).await;
        }
    }
}

impl Table {
    fn count(&mut self, guesser: Guesser, now: Duration) -> Counted {
        let age = self.next;
        self.next += 1;
        let found = self.guessers.entry(guesser.clone());
        let failures = found.or_insert_with(|| Failures::none(now));
        self.by_age.remove(&failures.age);
        self.by_age.insert(age, guesser);
        failures.age = age;
        if now.saturating_sub(failures.first) >= WINDOW {
            (failures.first, failures.count) = (now, 0);
        }
        failures.count = failures.count.saturating_add(1);
        let is_logged = failures
            .logged
            .is_none_or(|it| now.saturating_sub(it) >= LOG_EVERY);
        if is_logged {
            failures.logged = Some(now);
        }
        let counted = Counted {
            count: failures.count,
            is_logged,
            turn: Arc::clone(&failures.turn),
        };
        while self.guessers.len() > CAPACITY
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.guessers.remove(&oldest);
        }
        counted
    }
}

impl Failures {
    fn none(now: Duration) -> Self {
        Self {
            first: now,
            count: 0,
            // No guesser has it: the numbers of failures begin at 0.
            age: u64::MAX,
            logged: None,
            turn: Arc::default(),
        }
    }
}

/// An address as one guesser has it: of IPv6 the /64 that a host is given whole.
pub fn network(address: IpAddr) -> [u8; 16] {
    let v6 = match address {
        IpAddr::V4(it) => return it.to_ipv6_mapped().octets(),
        IpAddr::V6(it) => it,
    };
    if v6.to_ipv4_mapped().is_some() {
        return v6.octets();
    }
    let mut octets = v6.octets();
    octets[8..].fill(0);
    octets
}

#[cfg(test)]
mod tests;
