//! Tests of the system resolver with a lookup that hangs for as long as the test needs.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, future::join_all};
use parking_lot::{Condvar, Mutex};

use crate::{Resolve, SystemResolver};

const SOON: Duration = Duration::from_millis(20);
const NEVER: Duration = Duration::from_secs(600);

/// Name servers that answer for every name, except that names with the prefix `dead` wait for the end of the test.
#[derive(Default)]
struct NameServers {
    over: Mutex<bool>,
    ended: Condvar,
    asked: AtomicUsize,
    waiting: AtomicUsize,
}

impl NameServers {
    fn answer(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if host.starts_with("dead") {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let mut over = self.over.lock();
            while !*over {
                self.ended.wait(&mut over);
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(vec![IpAddr::from([192, 0, 2, 1])])
    }

    /// Answers all waiting lookups, or lets new ones wait again.
    fn set_over(&self, over: bool) {
        *self.over.lock() = over;
        self.ended.notify_all();
    }

    async fn until_waiting(&self, count: usize) {
        while self.waiting.load(Ordering::SeqCst) != count {
            tokio::task::yield_now().await;
        }
    }
}

/// Leaves no thread waiting, even if a test fails.
struct World {
    servers: Arc<NameServers>,
    resolver: SystemResolver,
}

impl World {
    fn new(patience: Duration) -> Self {
        let servers = Arc::new(NameServers::default());
        let asked = Arc::clone(&servers);
        let resolver = SystemResolver::with_lookup(move |host| asked.answer(host), patience);
        Self { servers, resolver }
    }

    async fn all(&self, names: usize) -> Vec<io::Result<Vec<IpAddr>>> {
        let names: Vec<String> = (0..names).map(|it| format!("dead{it}.example")).collect();
        join_all(names.iter().map(|it| self.resolver.resolve(it))).await
    }

    /// Looks names of one domain up in the background.
    fn ask_one_domain(&self, names: usize) {
        for name in 0..names {
            let resolver = self.resolver.clone();
            let name = format!("dead{name}.hanging.example");
            tokio::spawn(async move { resolver.resolve(&name).await });
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.servers.set_over(true);
    }
}

fn timed_out(outcome: &io::Result<Vec<IpAddr>>) -> bool {
    matches!(outcome, Err(error) if error.kind() == io::ErrorKind::TimedOut)
}

#[tokio::test]
async fn hanging_lookups_do_not_delay_other_names() {
    let world = World::new(SOON);
    assert!(world.all(64).await.iter().all(timed_out));
    world.servers.until_waiting(64).await;
    assert!(world.resolver.resolve("good.example").await.is_ok());
}

/// One caller can name any number of hosts whose name server never answers.
#[tokio::test]
async fn hanging_names_of_one_domain_hold_a_quarter_of_the_slots() {
    let world = World::new(NEVER);
    world.ask_one_domain(200);
    world.servers.until_waiting(12).await;
    assert!(world.resolver.resolve("good.example").await.is_ok());
    assert_eq!(world.servers.waiting.load(Ordering::SeqCst), 12);
}

#[tokio::test]
async fn timed_out_names_of_one_domain_hold_a_quarter_of_the_threads() {
    let world = World::new(SOON);
    world.ask_one_domain(200);
    world.servers.until_waiting(12 + 32).await;
    assert!(world.resolver.resolve("good.example").await.is_ok());
    assert!(world.all(64).await.iter().all(timed_out));
}

#[tokio::test]
async fn a_hanging_lookup_is_not_started_twice() {
    let world = World::new(SOON);
    assert!(world.all(1).await.iter().all(timed_out));
    assert!(world.all(1).await.iter().all(timed_out), "at once");
    assert_eq!(world.servers.asked.load(Ordering::SeqCst), 1);
    world.servers.set_over(true);
    world.servers.until_waiting(0).await;
    // The answer came too late for all requests, so the next request starts a new lookup.
    while world.all(1).await.iter().any(Result::is_err) {}
}

#[tokio::test]
async fn concurrent_requests_for_one_name_share_a_lookup() {
    let world = World::new(NEVER);
    let asked = (0..50).map(|_| world.resolver.resolve("dead.example"));
    let release = async {
        world.servers.until_waiting(1).await;
        world.servers.set_over(true);
    };
    let (answers, ()) = tokio::join!(join_all(asked), release);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(world.servers.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn names_known_to_be_slow_share_a_quarter_of_the_slots() {
    let world = World::new(SOON);
    assert!(world.all(64).await.iter().all(timed_out));
    world.servers.set_over(true);
    world.servers.until_waiting(0).await;
    world.servers.set_over(false);
    let slow = World {
        servers: Arc::clone(&world.servers),
        resolver: SystemResolver::clone(&world.resolver),
    };
    let all = tokio::spawn(async move { slow.all(64).await.len() });
    world.servers.until_waiting(16).await;
    assert!(world.resolver.resolve("good.example").await.is_ok());
    assert_eq!(world.servers.waiting.load(Ordering::SeqCst), 16);
    drop(world);
    assert_eq!(all.await.unwrap(), 64);
}

#[tokio::test]
async fn the_next_request_joins_a_lookup_whose_caller_has_gone() {
    let world = World::new(NEVER);
    let mut asked = world.resolver.resolve("dead.example");
    assert!((&mut asked).now_or_never().is_none());
    world.servers.until_waiting(1).await;
    drop(asked);
    let release = async { world.servers.set_over(true) };
    let (answer, ()) = tokio::join!(world.resolver.resolve("dead.example"), release);
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(world.servers.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn abandoned_lookups_of_one_name_occupy_only_one_thread() {
    let world = World::new(NEVER);
    for _ in 0..3 {
        let asked = world.resolver.resolve("dead.example");
        let _ = tokio::time::timeout(SOON, asked).await;
    }
    world.servers.until_waiting(1).await;
    assert_eq!(world.servers.asked.load(Ordering::SeqCst), 1);
}
