//! A call that waits for the database blocks no thread, so that an outage can abort it.

use crate::support::nodes::SharedRecords;
use crate::support::{Options, Server, until};
use parking_lot::Mutex;
use std::ops::Bound;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tintype_storage::domain::ids::SERVICE;
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineStats, KeyRange, Pairs, Read, Round, Snapshot, SnapshotError,
    Value, Wait as _,
};
use tintype_storage::store::tables::ACCOUNTS;
use tintype_storage::testing::layer::Layer as _;
use tokio::sync::watch;

/// A database that answers neither reads of accounts nor the begin of a snapshot while it is silent.
#[derive(Default)]
struct SilentDatabase {
    records: SharedRecords,
    is_silent: watch::Sender<bool>,
    outage: Mutex<Option<Duration>>,
}

impl SilentDatabase {
    fn is_silent(&self) -> bool {
        *self.is_silent.borrow()
    }

    /// The number of reads that wait.
    fn waiting(&self) -> usize {
        self.is_silent.receiver_count()
    }

    fn recovered(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut is_silent = self.is_silent.subscribe();
        async move { drop(is_silent.wait_for(|it| !*it).await) }
    }

    fn answer<T: Send + 'static>(
        &self,
        key: &[u8],
        read: impl FnOnce(&dyn Engine) -> Read<T> + Send + 'static,
    ) -> Read<T> {
        let inner = self.records.inner();
        let is_of_accounts = key.first() == ACCOUNTS.key(&SERVICE).first();
        if !(self.is_silent() && is_of_accounts) {
            return read(&*inner);
        }
        let recovered = self.recovered();
        Read::Pending(Box::pin(async move {
            recovered.await;
            read(&*inner).await
        }))
    }
}

impl Engine for SilentDatabase {
    fn get(&self, key: &[u8]) -> Read<Option<Value>> {
        let wanted = key.to_vec();
        self.answer(key, move |it| it.get(&wanted))
    }

    fn scan(&self, range: &KeyRange, direction: Direction, limit: usize) -> Read<Pairs> {
        let from = match &range.from {
            Bound::Included(key) | Bound::Excluded(key) => key.as_slice(),
            Bound::Unbounded => &[],
        };
        let range = range.clone();
        self.answer(from, move |it| it.scan(&range, direction, limit))
    }

    fn round(self: Arc<Self>, round: Box<dyn Round>) {
        self.records.inner().round(round);
    }

    fn submit(&self, commit: Commit) {
        self.records.inner().submit(commit);
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        if self.is_silent() {
            self.recovered().wait();
        }
        self.records.inner().snapshot()
    }

    fn stats(&self) -> EngineStats {
        self.records.inner().stats()
    }

    fn outage(&self) -> Option<Duration> {
        *self.outage.lock()
    }

    fn close(&self) {}
}

#[test]
fn an_outage_aborts_calls_that_wait_for_a_read_and_delays_no_others() {
    let database = Arc::new(SilentDatabase::default());
    let options = Options::new().set("server.workers", 1).slots(1);
    let server = Server::with(options.shared().behind(&database));
    let customer = server.customer("9.00");
    let browser = server.operators_browser();
    server.generator.hold();
    // One job runs, and one is in the queue.
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    server.create(&customer);
    let paths = ["/session", "/jobs", "/queue"];
    let panel = paths.map(|path| browser.call(&server, "GET", path));
    let export = server.admin("GET", "/export");
    for call in panel.into_iter().chain([export]) {
        database.is_silent.send_replace(true);
        let (other, aborted) = thread::scope(|scope| {
            let waiting = scope.spawn(|| call.send().status);
            until("the call waits", || database.waiting() > 0);
            let other = scope.spawn(|| server.get("/healthz").send().status);
            let other = other.join();
            *database.outage.lock() = Some(Duration::from_secs(6));
            let aborted = waiting.join();
            // Before the checks: a server with a blocked thread does not stop.
            *database.outage.lock() = None;
            database.is_silent.send_replace(false);
            (other, aborted)
        });
        assert_eq!(other.expect("another call is answered"), 200);
        assert_eq!(aborted.expect("the call is answered"), 503);
        until("no read waits", || database.waiting() == 0);
    }
    server.generator.release_all();
}
