//! The resolver of host names.

use std::{
    collections::{HashMap, HashSet},
    io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use parking_lot::Mutex;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tokio::{sync::oneshot, time::timeout};

/// Resolves host names. Tests use resolvers that change their answers, lie or hang.
pub trait Resolve: Send + Sync {
    /// Returns all addresses of `host`, in the order in which to try them. An empty list means that the name has none.
    ///
    /// # Errors
    /// The lookup failed. The text of the error stays inside the process.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Concurrent lookups of names that are not known to be slow.
const SLOTS: u64 = 48;
/// Concurrent lookups of names whose last lookup timed out. They cannot occupy the slots of other names.
const SLOW_SLOTS: u64 = 16;
/// Further lookups that have timed out. Each blocks a thread until the system ends the lookup.
const STRAGGLERS: u64 = 128;
/// A domain holds at most this part of each. Its owner can name any number of hosts that hang.
const DOMAIN_SHARE: u64 = 4;
/// The time that a request can spare for a lookup, once the lookup has a slot.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Names remembered as slow. A full set is cleared, and then each of its names may occupy an ordinary slot once more.
const MAX_SLOW: usize = 4_096;

/// The result of a lookup. It contains only the kind of an error, because many requests may share it and `io::Error` is not `Clone`.
type Outcome = Result<Vec<IpAddr>, io::ErrorKind>;
/// A blocking lookup.
type Ask = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The system's resolver, with the hosts file, name servers and address order of the machine.
///
/// A lookup blocks a thread until the name servers answer, and a timeout does not free the thread. Four rules follow. Requests for
/// the same name share one lookup. A lookup that times out fails all requests that wait for it, and all further requests for that
/// name until the system ends the lookup. The number of threads is limited, so that names that never resolve occupy neither the
/// slots of other names nor the threads that the object store needs. Domains take turns, and each holds a share of the slots.
#[derive(Clone)]
pub struct SystemResolver {
    inner: Arc<Inner>,
}

struct Inner {
    ask: Box<Ask>,
    timeout_after: Duration,
    /// By domain, like the other two.
    slots: FairSemaphore<String>,
    slow_slots: FairSemaphore<String>,
    stragglers: FairSemaphore<String>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    in_flight: HashMap<String, InFlight>,
    /// Names whose last lookup timed out.
    slow: HashSet<String>,
}

type Lookup = Shared<BoxFuture<'static, Outcome>>;

enum InFlight {
    /// The lookup waits for a slot, as long as a request waits for the lookup. Further requests join it.
    Queued(WeakShared<BoxFuture<'static, Outcome>>),
    /// A thread looks the name up. Further requests join, even if the first ones have gone.
    Started(Lookup),
    /// The lookup has timed out, and its thread still blocks.
    TimedOut,
}

impl Default for SystemResolver {
    fn default() -> Self {
        // The port does not affect the lookup.
        let ask = |host: &str| Ok((host, 0).to_socket_addrs()?.map(|it| it.ip()).collect());
        Self::with_lookup(ask, TIMEOUT)
    }
}

impl SystemResolver {
    pub(super) fn with_lookup(
        ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
        timeout_after: Duration,
    ) -> Self {
        let shared = |capacity| FairSemaphore::new(capacity, capacity / DOMAIN_SHARE);
        Self {
            inner: Arc::new(Inner {
                ask: Box::new(ask),
                timeout_after,
                slots: shared(SLOTS),
                slow_slots: shared(SLOW_SLOTS),
                stragglers: shared(STRAGGLERS),
                names: Mutex::default(),
            }),
        }
    }

    /// Joins the lookup of this name that is in flight, or starts one.
    fn join_or_start(&self, host: &str) -> Result<Lookup, io::ErrorKind> {
        let mut names = self.inner.names.lock();
        match names.in_flight.get(host) {
            Some(InFlight::TimedOut) => return Err(io::ErrorKind::TimedOut),
            Some(InFlight::Started(lookup)) => return Ok(lookup.clone()),
            Some(InFlight::Queued(weak)) => {
                if let Some(lookup) = weak.upgrade() {
                    return Ok(lookup);
                }
            }
            None => {}
        }
        let lookup = Arc::clone(&self.inner).look_up(host.to_owned());
        let lookup = lookup.boxed().shared();
        let weak = lookup.downgrade().ok_or(io::ErrorKind::Other)?;
        names
            .in_flight
            .insert(host.to_owned(), InFlight::Queued(weak));
        Ok(lookup)
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let lookup = self.join_or_start(host);
        async move { Ok(lookup?.await?) }.boxed()
    }
}

/// The slot of a lookup. Empty once the thread of the lookup is free.
type Slot = Arc<Mutex<Option<Permit<String>>>>;

/// The last two labels of a name.
fn domain(host: &str) -> &str {
    let host = host.trim_end_matches('.');
    let second = host.rmatch_indices('.').nth(1);
    second.map_or(host, |(dot, _)| &host[dot + 1..])
}

impl Inner {
    async fn look_up(self: Arc<Self>, host: String) -> Outcome {
        let slow = self.names.lock().slow.contains(&host);
        let slots = if slow { &self.slow_slots } else { &self.slots };
        let (slots, timeout_after) = (slots.clone(), self.timeout_after);
        let mut wait = Wait {
            inner: self,
            host,
            slow,
            slot: None,
        };
        let permit = slots.acquire(domain(&wait.host).to_owned(), 1).await;
        let slot: Slot = Arc::new(Mutex::new(Some(permit)));
        wait.slot = Some(Arc::clone(&slot));
        let (sender, receiver) = oneshot::channel();
        let (inner, name) = (Arc::clone(&wait.inner), wait.host.clone());
        // A separate task, because callers that disconnect say nothing about the name.
        let task = async move {
            let _wait = wait;
            match timeout(timeout_after, receiver).await {
                Ok(outcome) => outcome.unwrap_or(Err(io::ErrorKind::Other)),
                Err(_) => Err(io::ErrorKind::TimedOut),
            }
        };
        let task = tokio::spawn(task);
        let task = task.map(|it| it.unwrap_or(Err(io::ErrorKind::Other)));
        let lookup = task.boxed().shared();
        let started = InFlight::Started(lookup.clone());
        // Before the thread starts, which removes the entry.
        inner.names.lock().in_flight.insert(name.clone(), started);
        tokio::task::spawn_blocking(move || {
            let outcome = (inner.ask)(&name).map_err(|error| error.kind());
            inner.on_answer(&name, &slot);
            // Fails if the lookup has timed out.
            drop(sender.send(outcome));
        });
        lookup.await
    }

    /// Called when the thread of a lookup is free again.
    fn on_answer(&self, host: &str, slot: &Slot) {
        let mut names = self.names.lock();
        let timed_out = matches!(names.in_flight.remove(host), Some(InFlight::TimedOut));
        if !timed_out {
            names.slow.remove(host);
        }
        slot.lock().take();
    }

    /// Called when a lookup ends. If its thread still blocks, the lookup has timed out. Frees the slot of a name that was not known to be
    /// slow, unless too many threads block already.
    fn on_end(&self, host: &str, was_slow: bool, slot: &Slot) {
        let mut names = self.names.lock();
        let mut slot = slot.lock();
        if slot.is_none() {
            return;
        }
        if names.slow.len() >= MAX_SLOW {
            names.slow.clear();
        }
        names.slow.insert(host.to_owned());
        names.in_flight.insert(host.to_owned(), InFlight::TimedOut);
        let domain = domain(host).to_owned();
        if !was_slow && let Some(straggler) = self.stragglers.try_acquire(domain, 1) {
            *slot = Some(straggler);
        }
    }
}

/// Dropped when the lookup ends or times out, or when all requests have gone before it has a slot.
struct Wait {
    inner: Arc<Inner>,
    host: String,
    slow: bool,
    /// `None` until the lookup has a slot.
    slot: Option<Slot>,
}

impl Drop for Wait {
    fn drop(&mut self) {
        match &self.slot {
            Some(slot) => self.inner.on_end(&self.host, self.slow, slot),
            None => drop(self.inner.names.lock().in_flight.remove(&self.host)),
        }
    }
}
