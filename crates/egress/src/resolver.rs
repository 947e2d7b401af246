//! The resolver: the one place where a name becomes addresses.

use std::{
    collections::{HashMap, HashSet},
    fmt, io,
    net::{IpAddr, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

/// Turns a host name into addresses. Tests use resolvers that change their answers, lie or hang.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`, in the order in which to try them. An empty list means that the name has none.
    ///
    /// # Errors
    /// Why the name was not resolved; the text stays inside the process.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Concurrent look-ups of names that are not known to be slow.
const SLOTS: usize = 48;
/// Concurrent look-ups of names whose last look-up had no answer in time: they cannot take the slots of the others.
const SLOW_SLOTS: usize = 16;
/// Further look-ups without an answer in time, each of which blocks a thread until the system gives up on it.
const STRAGGLERS: usize = 128;
/// How long a look-up may take: as long as the request that needs it can spare.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Names remembered as slow. A full set is cleared, which costs each of its names one ordinary slot again.
const MAX_SLOW: usize = 4_096;

/// The outcome of a look-up. Only the kind of an error is kept, because many may wait for the same answer.
type Outcome = Result<Vec<IpAddr>, io::ErrorKind>;
/// Asks the name servers, and blocks until they answer.
type Ask = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The system's resolver: hosts file, name servers and address order as everywhere else on the machine.
///
/// A look-up blocks a thread until the name servers answer, and a time-out does not free the thread. Three rules follow. Requests
/// for the same name share one look-up. A look-up without an answer in time fails all requests that wait for it, and all that
/// ask for that name until the system has given up on it. The number of threads is bounded, so that names that never resolve
/// take neither the slots of those that do nor the threads that the object store needs.
#[derive(Clone)]
pub struct SystemResolver {
    inner: Arc<Inner>,
}

struct Inner {
    ask: Box<Ask>,
    timeout_after: Duration,
    slots: Arc<Semaphore>,
    slow_slots: Arc<Semaphore>,
    stragglers: Arc<Semaphore>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    under_way: HashMap<String, UnderWay>,
    /// Names whose last look-up had no answer in time.
    slow: HashSet<String>,
}

enum UnderWay {
    /// Further requests join it, as long as one waits for it.
    Awaited(WeakShared<BoxFuture<'static, Outcome>>),
    /// It had no answer in time; its thread still blocks.
    GivenUp,
}

impl Default for SystemResolver {
    fn default() -> Self {
        // The port plays no part in a look-up.
        let ask = |host: &str| Ok((host, 0).to_socket_addrs()?.map(|it| it.ip()).collect());
        Self::asking(ask, TIMEOUT)
    }
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemResolver")
    }
}

impl SystemResolver {
    /// A resolver that asks in another way, with another time-out.
    pub(super) fn asking(
        ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
        timeout_after: Duration,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                ask: Box::new(ask),
                timeout_after,
                slots: Arc::new(Semaphore::new(SLOTS)),
                slow_slots: Arc::new(Semaphore::new(SLOW_SLOTS)),
                stragglers: Arc::new(Semaphore::new(STRAGGLERS)),
                names: Mutex::default(),
            }),
        }
    }

    /// The look-up of this name that is under way, or a new one.
    fn joined(&self, host: &str) -> Result<Shared<BoxFuture<'static, Outcome>>, io::ErrorKind> {
        let mut names = self.inner.names.lock();
        match names.under_way.get(host) {
            Some(UnderWay::GivenUp) => return Err(io::ErrorKind::TimedOut),
            Some(UnderWay::Awaited(weak)) => {
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
            .under_way
            .insert(host.to_owned(), UnderWay::Awaited(weak));
        Ok(lookup)
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let lookup = self.joined(host);
        async move { Ok(lookup?.await?) }.boxed()
    }
}

/// The slot that a look-up holds until its thread is free; empty from then on.
type Held = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

impl Inner {
    async fn look_up(self: Arc<Self>, host: String) -> Outcome {
        let slow = self.names.lock().slow.contains(&host);
        let slots = if slow { &self.slow_slots } else { &self.slots };
        let (slots, timeout_after) = (Arc::clone(slots), self.timeout_after);
        let mut wait = Wait {
            inner: self,
            host,
            slow,
            held: None,
        };
        let slot = slots.acquire_owned().await;
        let slot = slot.map_err(|_| io::ErrorKind::Other)?;
        let held: Held = Arc::new(Mutex::new(Some(slot)));
        wait.held = Some(Arc::clone(&held));
        let (tell, told) = oneshot::channel();
        let (inner, name) = (Arc::clone(&wait.inner), wait.host.clone());
        tokio::task::spawn_blocking(move || {
            let outcome = (inner.ask)(&name).map_err(|error| error.kind());
            inner.answered(&name, &held);
            // Fails if the answer came too late.
            drop(tell.send(outcome));
        });
        match timeout(timeout_after, told).await {
            Ok(outcome) => outcome.unwrap_or(Err(io::ErrorKind::Other)),
            Err(_) => Err(io::ErrorKind::TimedOut),
        }
    }

    /// Called when the thread of a look-up is free again.
    fn answered(&self, host: &str, held: &Held) {
        let mut names = self.names.lock();
        let late = matches!(names.under_way.remove(host), Some(UnderWay::GivenUp));
        if !late {
            names.slow.remove(host);
        }
        held.lock().take();
    }

    /// Called when no request waits for this look-up any more and its thread still blocks. The slot of a name that was not known
    /// to be slow is freed for other names, unless too many threads block already.
    fn given_up(&self, host: &str, was_slow: bool, held: &Held) {
        let mut names = self.names.lock();
        let mut slot = held.lock();
        if slot.is_none() {
            return;
        }
        if names.slow.len() >= MAX_SLOW {
            names.slow.clear();
        }
        names.slow.insert(host.to_owned());
        names.under_way.insert(host.to_owned(), UnderWay::GivenUp);
        if !was_slow && let Ok(straggling) = Arc::clone(&self.stragglers).try_acquire_owned() {
            *slot = Some(straggling);
        }
    }
}

/// At least one request waits for a look-up. Dropped with its answer, at its time-out, or when all requests have gone.
struct Wait {
    inner: Arc<Inner>,
    host: String,
    slow: bool,
    /// The slot of its thread, once it has one.
    held: Option<Held>,
}

impl Drop for Wait {
    fn drop(&mut self) {
        match &self.held {
            Some(held) => self.inner.given_up(&self.host, self.slow, held),
            None => drop(self.inner.names.lock().under_way.remove(&self.host)),
        }
    }
}
