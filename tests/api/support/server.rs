//! The real server, in a thread of its own, on a port of the system's choosing.

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
use tintype::application::state::AppState;
use tintype::server::{self, Instance, Setup};
use tintype_actors::ports::Generator;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::Engine;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use uuid::Uuid;

/// A running server. It stops, in an orderly way, when it goes out of scope.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its clock.
    pub clock: TestClock,
    /// Its back end.
    pub generator: TestGenerator,
    /// Its inside, for audits only.
    pub(super) instance: Option<Instance>,
    pub(super) options: Options,
    /// The other nodes, where the environment asks for several.
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

    /// Starts one that differs. Where the environment asks for several nodes, each call goes to the next one of them.
    pub fn with(options: Options) -> Self {
        let nodes = options.nodes();
        let options = if nodes > 1 { options.shared() } else { options };
        let mut first = Self::node(options.clone());
        // As behind a load balancer, all nodes tell callers the same address.
        let options = options.reached_at(&format!("http://{}", first.address));
        first.others = (1..nodes).map(|_| Self::node(options.clone())).collect();
        first
    }

    /// Starts one node.
    pub fn node(options: Options) -> Self {
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let given = options.clone();
        let thread = thread::spawn(move || {
            let system = actix_web::rt::System::new();
            system.block_on(serve(given, tell, stopped));
        });
        let (address, instance) = told.recv().expect("the server did not start");
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

    /// Stops it and starts one in its place, on the same data directory. Needs [`Options::on_disk`].
    pub fn restart(self) -> Self {
        let options = self.stop();
        Self::with(options)
    }

    /// Stops it.
    pub fn stop(mut self) -> Options {
        self.shut_down();
        self.options.clone()
    }

    /// A call of `method` on `target`, which is sent as it is written here.
    pub fn call(&self, method: &str, target: &str) -> Request {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) % (self.others.len() + 1);
        let node = call.checked_sub(1).map_or(self, |at| &self.others[at]);
        Request::new(node.address, method, target)
    }

    /// `GET`
    pub fn get(&self, target: &str) -> Request {
        self.call("GET", target)
    }

    /// `POST`
    pub fn post(&self, target: &str) -> Request {
        self.call("POST", target)
    }

    /// An operator's call on a path below `/admin/v1`.
    pub fn admin(&self, method: &str, path: &str) -> Request {
        self.call(method, &format!("/admin/v1{path}"))
            .bearer(ADMIN_TOKEN)
    }

    /// Something must be told: by a process without others at once, by a node once it has heard of what the others did.
    pub fn assert_told(&self, what: &str, mut look: impl FnMut() -> bool) {
        match self.inside().system.node() {
            Some(_) => until(what, look),
            None => assert!(look(), "{what}"),
        }
    }

    /// Its inside, for audits and nudges only.
    pub fn inside(&self) -> &AppState {
        &self.instance().state
    }

    /// The same with what single interfaces keep in memory.
    pub fn instance(&self) -> &Instance {
        self.instance.as_ref().expect("a server that runs")
    }

    /// Where its objects lie.
    pub fn objects(&self) -> PathBuf {
        self.options.data_dir().join("objects")
    }

    /// Under which key the picture of a job lies that had one run.
    pub fn result_key(&self, job: &str) -> String {
        match self.inside().system.node() {
            // A node that was taken for dead must not replace the picture of a later run.
            Some(_) => format!("results/{job}.1.png"),
            None => format!("results/{job}.png"),
        }
    }

    /// Lets the hour pass for which nodes keep the inputs of ended jobs.
    pub fn forget_kept_inputs(&self) {
        let later = Instant::now() + Duration::from_secs(3_600);
        let system = actix_web::rt::System::new();
        for node in [self].into_iter().chain(&self.others) {
            let results = &node.inside().result_store;
            system.block_on(results.forget_kept_inputs(later));
        }
    }

    fn shut_down(&mut self) {
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

type Started = (SocketAddr, Instance);

/// The same steps as `tintype serve` takes, without its signals.
async fn serve(options: Options, tell: mpsc::Sender<Started>, stopped: oneshot::Receiver<()>) {
    let config = options.config();
    let listener = server::bind("127.0.0.1", 0).unwrap();
    let address = listener.local_addr().unwrap();
    let public_url = config.public_url_at(address);
    let generator: Arc<dyn Generator> = Arc::new(options.generator.clone());
    let node = NodeId(Uuid::new_v4());
    let shared = match &options.gate {
        Some(_) => None,
        None => options.database.engine(node).or_else(|| {
            let shared = options.shared.clone();
            shared.map(|it| it as Arc<dyn Engine>)
        }),
    };
    let node = shared.is_some().then_some(node);
    let engine: Option<Arc<dyn Engine>> = match &options.gate {
        Some(gate) => Some(Arc::clone(gate) as Arc<dyn Engine>),
        None => shared.or_else(|| {
            let memory = || Arc::new(MemoryEngine::new()) as Arc<dyn Engine>;
            (!options.sled).then(memory)
        }),
    };
    let instance = server::start(Setup {
        clock: Some(options.clock.clock()),
        elapsed: options.clock.elapsed(),
        engine,
        node,
        generators: HashMap::from([("builtin".to_owned(), generator)]),
        resolver: Some(Arc::clone(&options.resolver)),
        ..Setup::new(config, public_url)
    })
    .await
    .unwrap();
    let server = server::serve(instance.clone(), listener).unwrap();
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    tell.send((address, instance.clone())).unwrap();
    drop(tell);
    // Sent by nobody: the sender is dropped when the server is to stop.
    let _ = stopped.await;
    let closing = actix_web::rt::spawn(handle.stop(true));
    server::finish_jobs(&instance).await;
    closing.await.unwrap();
    running.await.unwrap().unwrap();
    server::close(&instance);
}
