//! Looking up host names: the one place where a name becomes addresses.

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

/// Something that turns a host name into addresses. The tests put in resolvers that change their mind, lie or hang.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`, in the order in which they should be tried. An empty list means that there are none.
    ///
    /// # Errors
    /// Whatever kept the name from being resolved; its text stays inside the process.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Look-ups that may be under way at once, of names that are not known to be slow.
const PLACES: usize = 48;
/// The same of names whose last look-up had no answer in time: they cannot take the places of the others.
const SLOW_PLACES: usize = 16;
/// Look-ups beyond these that had no answer in time, each of which blocks a thread until the system gives up on it.
const STRAGGLERS: usize = 128;
/// How long an answer is waited for: as long as the attempt that needs it can well spare.
const PATIENCE: Duration = Duration::from_secs(3);
/// Names remembered as slow. Past these all are forgotten, which costs each of them one ordinary place again.
const MAX_SLOW: usize = 4_096;

/// What a look-up comes to. Only the kind of a fault is kept, for many may wait for the same answer.
type Outcome = Result<Vec<IpAddr>, io::ErrorKind>;
/// Blocks for as long as the name servers take.
type Ask = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The system's resolver: hosts file, name servers and address order as everywhere else on the machine.
///
/// A look-up blocks a thread for as long as the name servers take, and giving up on it does not free the thread. So there is
/// one look-up of a name at a time, which others join; one without an answer in time fails all who wait, and whoever asks
/// for that name before the system has given up on it; and the number of threads is bounded: names that never resolve can
/// take neither the places of those that do nor the threads that the object store needs.
#[derive(Clone)]
pub struct SystemResolver {
    inner: Arc<Inner>,
}

struct Inner {
    ask: Box<Ask>,
    patience: Duration,
    places: Arc<Semaphore>,
    slow_places: Arc<Semaphore>,
    stragglers: Arc<Semaphore>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    under_way: HashMap<String, UnderWay>,
    /// Those whose last look-up had no answer in time.
    slow: HashSet<String>,
}

enum UnderWay {
    /// To be joined, as long as anyone waits for it.
    Awaited(WeakShared<BoxFuture<'static, Outcome>>),
    /// Without an answer in time; its thread still blocks.
    GivenUp,
}

impl Default for SystemResolver {
    fn default() -> Self {
        // The port plays no part in a look-up; the caller knows its own.
        let ask = |host: &str| Ok((host, 0).to_socket_addrs()?.map(|it| it.ip()).collect());
        Self::asking(ask, PATIENCE)
    }
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemResolver")
    }
}

impl SystemResolver {
    /// One that asks in another way, and waits this long for an answer.
    pub(super) fn asking(
        ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
        patience: Duration,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                ask: Box::new(ask),
                patience,
                places: Arc::new(Semaphore::new(PLACES)),
                slow_places: Arc::new(Semaphore::new(SLOW_PLACES)),
                stragglers: Arc::new(Semaphore::new(STRAGGLERS)),
                names: Mutex::default(),
            }),
        }
    }

    /// The look-up of a name that is under way, or a new one.
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

/// The place that a look-up holds until its thread is free; empty from then on.
type Held = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

impl Inner {
    async fn look_up(self: Arc<Self>, host: String) -> Outcome {
        let slow = self.names.lock().slow.contains(&host);
        let places = if slow {
            &self.slow_places
        } else {
            &self.places
        };
        let (places, patience) = (Arc::clone(places), self.patience);
        let mut wait = Wait {
            inner: self,
            host,
            slow,
            held: None,
        };
        let place = places.acquire_owned().await;
        let place = place.map_err(|_| io::ErrorKind::Other)?;
        let held: Held = Arc::new(Mutex::new(Some(place)));
        wait.held = Some(Arc::clone(&held));
        let (tell, told) = oneshot::channel();
        let (inner, name) = (Arc::clone(&wait.inner), wait.host.clone());
        tokio::task::spawn_blocking(move || {
            let outcome = (inner.ask)(&name).map_err(|error| error.kind());
            inner.answered(&name, &held);
            // Nobody waits any more where it came too late.
            drop(tell.send(outcome));
        });
        match timeout(patience, told).await {
            Ok(outcome) => outcome.unwrap_or(Err(io::ErrorKind::Other)),
            Err(_) => Err(io::ErrorKind::TimedOut),
        }
    }

    /// The thread of a look-up is free again, sooner or later.
    fn answered(&self, host: &str, held: &Held) {
        let mut names = self.names.lock();
        let late = matches!(names.under_way.remove(host), Some(UnderWay::GivenUp));
        if !late {
            names.slow.remove(host);
        }
        held.lock().take();
    }

    /// Nobody waits for this look-up any more, and its thread goes on. The place of a name that was not known to be slow
    /// goes to those after it, who need not wait for the system to give up, unless there are too many of its kind already.
    fn given_up(&self, host: &str, was_slow: bool, held: &Held) {
        let mut names = self.names.lock();
        let mut place = held.lock();
        if place.is_none() {
            return;
        }
        if names.slow.len() >= MAX_SLOW {
            names.slow.clear();
        }
        names.slow.insert(host.to_owned());
        names.under_way.insert(host.to_owned(), UnderWay::GivenUp);
        if !was_slow && let Ok(straggling) = Arc::clone(&self.stragglers).try_acquire_owned() {
            *place = Some(straggling);
        }
    }
}

/// Somebody waits for a look-up, until this is dropped: with its answer, without one in time, or because all have left.
struct Wait {
    inner: Arc<Inner>,
    host: String,
    slow: bool,
    /// What its thread holds, once it has one.
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
