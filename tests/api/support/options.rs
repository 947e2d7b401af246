//! Settings of a test server.

use super::clock::TestClock;
use super::database::TestDatabase;
use super::generator::TestGenerator;
use super::nodes::SharedRecords;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::env;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tintype::config::{Config, Sources};
use tintype_egress::Resolve;
use tintype_storage::engine::Engine;

/// The variable with the number of nodes of a test server.
const NODES: &str = "TINTYPE_TEST_NODES";

pub const ADMIN_TOKEN: &str = "the-admin-token-of-the-tests-0123456789";

/// Why a test needs a single node even if the environment asks for several. All other tests also run with several nodes.
#[derive(Clone, Copy)]
pub enum OneNode {
    /// Each node may admit the first burst of a rate, and `RateLimit` shows the state of the node that answers.
    Rates,
    /// The test is about a single process.
    Alone,
    /// Each node counts failed sign-ins, a key's damaged images, and once-a-minute calls separately.
    Attempts,
    /// Connections belong to one node.
    Connections,
    /// `[limits] ingest_bytes` holds for each node.
    Memory,
    /// Only the node that answered a call, or whose caller disconnected, recognizes a repeat without an `Idempotency-Key`.
    Repeats,
    /// A node reports only the throughput and the backend health that it has observed itself.
    Figures,
    /// A node learns of live jobs on other nodes within 250 ms, so `[jobs] max_live` is not exact.
    LiveJobsInAll,
    /// A node estimates when a job starts from its own runs, and assumes that the other nodes are as fast.
    Estimates,
    /// Only the node that runs a job knows its progress.
    Progress,
    /// Nodes stop one after another: a job may start on a node that still runs, and be interrupted there.
    Stop,
}

/// What to start a server with. Clones share the data directory, clock and generator, so starting a clone is a restart.
#[derive(Clone)]
pub struct Options {
    flags: Vec<(String, toml::Value)>,
    pub(super) sled: bool,
    one_node: Option<OneNode>,
    /// Stores the records of a single process.
    pub(super) engine: Option<Arc<dyn Engine>>,
    pub(super) database: TestDatabase,
    pub(super) shared: Option<Arc<SharedRecords>>,
    pub(super) dir: Arc<TempDir>,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) sweep_interval: Option<Duration>,
    pub clock: TestClock,
    pub generator: TestGenerator,
}

/// Resolves names of this machine only, so that no test depends on a name server.
struct Offline;

impl Resolve for Offline {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let found = match host {
            // Hosts that the documentation registers webhooks at.
            "localhost" | "example.com" | "shop.example" => vec![IpAddr::from([127, 0, 0, 1])],
            _ => Vec::new(),
        };
        async move { Ok(found) }.boxed()
    }
}

impl Options {
    /// Records in memory, requests to public addresses only, and a generator that succeeds at once.
    pub fn new() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let options = Self {
            flags: Vec::new(),
            sled: false,
            one_node: None,
            engine: None,
            database: TestDatabase::default(),
            shared: None,
            resolver: Arc::new(Offline),
            sweep_interval: None,
            clock: TestClock::default(),
            generator: TestGenerator::default(),
            dir,
        };
        let data_dir = options.dir.path().display().to_string();
        options
            .set("storage.data_dir", data_dir)
            .set("admin.token", ADMIN_TOKEN)
            .set("cluster.secret", "the-secret-of-the-nodes-of-the-tests-01")
            // A node of a busy machine may miss heartbeats for seconds. Tests of dead nodes set less.
            .set("cluster.dead_after_seconds", 60)
            .set("server.workers", 2)
            .set("server.shutdown_grace_seconds", 0)
            .set("backends.builtin.concurrency", 64)
            // Off: many tests fetch more often than the default rate allows.
            .set("limits.fetches_per_second", 0)
    }

    /// Sets a configuration key.
    pub fn set(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.flags.push((key.to_owned(), value.into()));
        self
    }

    /// Forgets these configuration keys.
    pub fn unset(mut self, keys: &[&str]) -> Self {
        self.flags.retain(|(key, _)| !keys.contains(&&**key));
        self
    }

    /// Sets the public URL unless the test has set one.
    pub(super) fn default_public_url(self, url: &str) -> Self {
        match self.flags.iter().any(|(key, _)| key == "server.public_url") {
            true => self,
            false => self.set("server.public_url", url),
        }
    }

    /// Sets the number of concurrent runs of the backend, over all nodes.
    pub fn slots(self, slots: i64) -> Self {
        let options = self.set("backends.builtin.concurrency", slots);
        options.set("backends.builtin.shared", true)
    }

    /// Starts one node regardless of the environment.
    pub fn one_node(mut self, because: OneNode) -> Self {
        self.one_node = Some(because);
        self
    }

    /// Keeps records on disk, so that they outlive the server.
    pub fn on_disk(mut self) -> Self {
        self.sled = true;
        self
    }

    /// Keeps records in PostgreSQL whatever the environment asks for; `None` if it is not installed.
    pub fn on_postgres(mut self) -> Option<Self> {
        self.database = TestDatabase::required()?;
        Some(self)
    }

    pub fn is_on_postgres(&self) -> bool {
        self.database.is_used
    }

    /// The number of nodes: the environment's, if the nodes can share their records.
    pub(super) fn nodes(&self) -> usize {
        let asked = env::var(NODES).ok().and_then(|it| it.parse().ok());
        let is_alone = self.one_node.is_some() || self.engine.is_some();
        match is_alone || self.sled && !self.is_on_postgres() {
            true => 1,
            false => asked.unwrap_or(1),
        }
    }

    /// All servers started with these options share their records.
    pub fn shared(mut self) -> Self {
        self.shared.get_or_insert_default();
        self
    }

    /// Keeps records in an engine that can stall or fail. With [`Options::shared`], the server is a node on this engine.
    pub fn behind(mut self, engine: &Arc<impl Engine + 'static>) -> Self {
        self.engine = Some(Arc::clone(engine) as Arc<dyn Engine>);
        self
    }

    pub fn resolving(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Sweeps this often, instead of rarely.
    pub fn sweep_every(mut self, interval: Duration) -> Self {
        self.sweep_interval = Some(interval);
        self
    }

    /// Allows input images from loopback.
    pub fn allow_loopback(self) -> Self {
        self.set("egress.allow", vec!["127.0.0.0/8"])
    }

    pub fn data_dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn config(&self) -> Config {
        let sources = Sources {
            flags: self.flags.clone(),
            ..Sources::default()
        };
        Config::load(&sources).unwrap()
    }
}
