//! How a test's server differs from the default one.

use super::clock::TestClock;
use super::database::{TestDatabase, is_on_postgres};
use super::generator::TestGenerator;
use super::nodes::SharedRecords;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::env;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tintype::config::{Config, Sources};
use tintype_egress::Resolve;
use tintype_storage::testing::stalled::StalledEngine;

/// How many nodes make up a server of the tests.
const NODES: &str = "TINTYPE_TEST_NODES";

/// The operator's token of every test server.
pub const ADMIN_TOKEN: &str = "the-admin-token-of-the-tests-0123456789";

/// Why a test asks one node alone, also where the environment says that a server of the tests is several. All other tests run with several
/// nodes too.
#[derive(Clone, Copy)]
pub enum OneNode {
    /// The first burst of a rate may be admitted once by each node, and `RateLimit` tells what the node that answers knows.
    Rates,
    /// It is about a process without other nodes.
    Alone,
    /// Each node by itself counts failed attempts to sign in, damaged images of a key, and calls that may be made once a minute.
    Attempts,
    /// Each node has connections of its own.
    Connections,
    /// `[limits] ingest_bytes` holds for each node.
    Memory,
    /// The node that a synchronous caller has left alone knows its request without an `Idempotency-Key` again.
    Repeats,
    /// A node tells the throughput and the health of back ends that it has seen itself.
    Figures,
    /// A node hears within 250 ms of the live jobs that others have accepted, so `[jobs] max_live` is not exact.
    LiveJobsInAll,
    /// A node estimates when a job will begin by its own runs, and takes the other nodes to be as fast.
    Estimates,
    /// The node that runs a job alone tells how far it is.
    Progress,
    /// Nodes are stopped one after another: a job may begin at one that still runs, and be cut off there.
    Stop,
}

/// What a server is started with. A clone describes the same data directory, clock and generator: start it again for a
/// restart.
#[derive(Clone)]
pub struct Options {
    flags: Vec<(String, toml::Value)>,
    pub(super) sled: bool,
    one_node: Option<OneNode>,
    pub(super) gate: Option<Arc<StalledEngine>>,
    pub(super) database: TestDatabase,
    pub(super) shared: Option<Arc<SharedRecords>>,
    pub(super) dir: Arc<TempDir>,
    pub(super) resolver: Arc<dyn Resolve>,
    /// Its clock.
    pub clock: TestClock,
    /// Its back end.
    pub generator: TestGenerator,
}

/// Knows this machine alone: no test asks a name server, whose answer nobody here could foretell.
struct Offline;

impl Resolve for Offline {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let found = match host {
            // The documentation registers webhooks at these.
            "localhost" | "example.com" | "shop.example" => vec![IpAddr::from([127, 0, 0, 1])],
            _ => Vec::new(),
        };
        async move { Ok(found) }.boxed()
    }
}

impl Options {
    /// Records in memory, no way out but to public addresses, a generator that succeeds at once.
    pub fn new() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let options = Self {
            flags: Vec::new(),
            sled: false,
            one_node: None,
            gate: None,
            database: TestDatabase::default(),
            shared: None,
            resolver: Arc::new(Offline),
            clock: TestClock::default(),
            generator: TestGenerator::default(),
            dir,
        };
        let data_dir = options.dir.path().display().to_string();
        options
            .set("storage.data_dir", data_dir)
            .set("admin.token", ADMIN_TOKEN)
            .set("cluster.secret", "the-secret-of-the-nodes-of-the-tests-01")
            .set("server.workers", 2)
            .set("server.shutdown_grace_seconds", 0)
            .set("backends.builtin.concurrency", 64)
            // Off: many tests fetch more often than a caller without a rate of its own may.
            .set("limits.fetches_per_second", 0)
    }

    /// Sets a key of the configuration.
    pub fn set(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.flags.push((key.to_owned(), value.into()));
        self
    }

    /// Tells callers this URL, unless a test has set another one.
    pub(super) fn reached_at(self, url: &str) -> Self {
        match self.flags.iter().any(|(key, _)| key == "server.public_url") {
            true => self,
            false => self.set("server.public_url", url),
        }
    }

    /// Has the back end take so many jobs at a time, from all nodes together.
    pub fn slots(self, slots: i64) -> Self {
        let options = self.set("backends.builtin.concurrency", slots);
        options.set("backends.builtin.shared", true)
    }

    /// Starts one node, whatever the environment asks for.
    pub fn one_node(mut self, because: OneNode) -> Self {
        self.one_node = Some(because);
        self
    }

    /// Keeps records on the disk, so that they outlive the server.
    pub fn on_disk(mut self) -> Self {
        self.sled = true;
        self
    }

    /// How many nodes make up a server: as many as the environment says, where they can share their records.
    pub(super) fn nodes(&self) -> usize {
        let asked = env::var(NODES).ok().and_then(|it| it.parse().ok());
        let is_alone = self.one_node.is_some() || self.gate.is_some();
        match is_alone || self.sled && !is_on_postgres() {
            true => 1,
            false => asked.unwrap_or(1),
        }
    }

    /// Has all servers that are started with these options share their records.
    pub fn shared(mut self) -> Self {
        self.shared.get_or_insert_default();
        self
    }

    /// Keeps records in memory behind this gate.
    pub fn behind(mut self, gate: &Arc<StalledEngine>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// Looks host names up this way.
    pub fn resolving(mut self, resolver: impl Resolve + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Lets input images come from loopback.
    pub fn allow_loopback(self) -> Self {
        self.set("egress.allow", vec!["127.0.0.0/8"])
    }

    /// Where everything is kept.
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
