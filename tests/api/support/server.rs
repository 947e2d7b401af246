//! The real server, in its own thread, on a port that the system chooses.

use super::clock::TestClock;
use super::generator::TestGenerator;
use super::http::Request;
use super::options::{ADMIN_TOKEN, Options};
use super::poll::until;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tintype::application::core::Core;
use tintype::server::{self, Instance, Setup};
use tintype_actors::ports::Generator;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::Engine;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use uuid::Uuid;

/// A running server. Dropping it shuts it down gracefully.
pub struct Server {
    pub address: SocketAddr,
    pub clock: TestClock,
    pub generator: TestGenerator,
    /// Internal state, for checks only.
    pub(super) instance: Option<Instance>,
    pub(super) options: Options,
    /// The other nodes, if the environment asks for several.
    others: Vec<Server>,
    calls: AtomicUsize,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the default test server.
    pub fn start() -> Self {
        Self::with(Options::new())
    }

    /// Starts a server with these options. If the environment asks for several nodes, calls rotate among them.
    pub fn with(options: Options) -> Self {
        let nodes = options.nodes();
        let options = if nodes > 1 { options.shared() } else { options };
        let mut first = Self::node(options.clone());
        // All nodes publish the same URL, as behind a load balancer.
        let options = options.default_public_url(&format!("http://{}", first.address));
        first.others = (1..nodes).map(|_| Self::node(options.clone())).collect();
        first
    }

    pub fn node(options: Options) -> Self {
        let (started, receiver) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let options_of_thread = options.clone();
        let thread = thread::spawn(move || {
            let system = actix_web::rt::System::new();
            system.block_on(serve(options_of_thread, started, stopped));
        });
        let (address, instance) = receiver.recv().expect("the server did not start");
        Self {
            address,
            clock: options.clock.clone(),
            generator: options.generator.clone(),
            instance: Some(instance),
            options,
            others: Vec::new(),
            calls: AtomicUsize::new(0),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Stops the server and starts one on the same data directory. Needs [`Options::on_disk`].
    pub fn restart(self) -> Self {
        let options = self.stop();
        Self::with(options)
    }

    pub fn stop(mut self) -> Options {
        self.shut_down();
        self.options.clone()
    }

    /// Builds a call; `target` goes over the wire as written.
    pub fn call(&self, method: &str, target: &str) -> Request {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) % (self.others.len() + 1);
        let node = call.checked_sub(1).map_or(self, |at| &self.others[at]);
        Request::new(node.address, method, target)
    }

    pub fn get(&self, target: &str) -> Request {
        self.call("GET", target)
    }

    pub fn post(&self, target: &str) -> Request {
        self.call("POST", target)
    }

    /// Builds an operator's call on a path relative to `/admin/v1`.
    pub fn admin(&self, method: &str, path: &str) -> Request {
        self.call(method, &format!("/admin/v1{path}"))
            .bearer(ADMIN_TOKEN)
    }

    /// Asserts that a change is visible: immediately in a single process, eventually on a node of several.
    pub fn assert_visible(&self, what: &str, mut look: impl FnMut() -> bool) {
        match self.inside().system.node() {
            Some(_) => until(what, look),
            None => assert!(look(), "{what}"),
        }
    }

    /// Internal state, for checks and nudges only.
    pub fn inside(&self) -> &Core {
        &self.instance().core
    }

    /// Internal state, with the caches of the interfaces.
    pub fn instance(&self) -> &Instance {
        self.instance.as_ref().expect("a server that runs")
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Self> {
        [self].into_iter().chain(&self.others)
    }

    pub fn objects(&self) -> PathBuf {
        self.options.data_dir().join("objects")
    }

    /// The object key of the image of a job that had one run.
    pub fn result_key(&self, job: &str) -> String {
        match self.inside().system.node() {
            // With several nodes the key names the run, so that a node declared dead cannot replace the image of a later
            // run.
            Some(_) => format!("results/{job}.1.png"),
            None => format!("results/{job}.png"),
        }
    }

    /// Advances past the hour for which nodes keep the inputs of ended jobs.
    pub fn delete_kept_inputs(&self) {
        let later = Instant::now() + Duration::from_secs(3_600);
        let system = actix_web::rt::System::new();
        for node in self.nodes() {
            system.block_on(node.instance().jobs.input_deletion.delete_due(later));
        }
    }

    fn shut_down(&mut self) {
        // All nodes at once, as with one process: a node that leaves before the others gives its jobs to them.
        for node in &mut self.others {
            drop(node.stop.take());
        }
        self.instance = None;
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !thread::panicking()
        {
            panic!("the server's thread panicked");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down();
    }
}

type StartedServer = (SocketAddr, Instance);

/// The steps of `tintype serve`, without its signals.
async fn serve(
    options: Options,
    started: mpsc::Sender<StartedServer>,
    stopped: oneshot::Receiver<()>,
) {
    let config = options.config();
    let listener = server::bind("127.0.0.1", 0).unwrap();
    let address = listener.local_addr().unwrap();
    let public_url = config.public_url_at(address);
    let generator: Arc<dyn Generator> = Arc::new(options.generator.clone());
    let node = NodeId(Uuid::new_v4());
    let shared = match &options.engine {
        Some(engine) => options.shared.is_some().then(|| Arc::clone(engine)),
        None => options.database.engine(node).or_else(|| {
            let shared = options.shared.clone();
            shared.map(|it| it as Arc<dyn Engine>)
        }),
    };
    let node = shared.is_some().then_some(node);
    let engine: Option<Arc<dyn Engine>> = match &options.engine {
        Some(engine) => Some(Arc::clone(engine)),
        None => shared.or_else(|| {
            let memory = || Arc::new(MemoryEngine::new()) as Arc<dyn Engine>;
            (!options.sled).then(memory)
        }),
    };
    let setup = Setup::new(config, public_url);
    let sweep_interval = options.sweep_interval.unwrap_or(setup.sweep_interval);
    let instance = server::start(Setup {
        clock: Some(options.clock.clock()),
        elapsed: options.clock.elapsed(),
        engine,
        node,
        generators: HashMap::from([("builtin".to_owned(), generator)]),
        resolver: Some(Arc::clone(&options.resolver)),
        sweep_interval,
        ..setup
    })
    .await
    .unwrap();
    let server = server::serve(instance.clone(), listener).unwrap();
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    started.send((address, instance.clone())).unwrap();
    drop(started);
    // The shutdown signal is the drop of the sender.
    let _ = stopped.await;
    let closing = actix_web::rt::spawn(handle.stop(true));
    server::finish_jobs(&instance, std::future::pending()).await;
    closing.await.unwrap();
    running.await.unwrap().unwrap();
    server::close(&instance).await;
}
