//! Puts the parts together: what is opened at the start, in which order, and what an orderly stop does.

use crate::backends::kinds::{self, BackendSetupError};
use crate::backup;
use crate::catalog::{catalog, tier_config};
use crate::compat::{self, Line, Orphans, Room};
use crate::config::{Config, TierBackend};
use crate::data_dir;
use crate::descriptors;
use crate::egress::{Egress, EgressOptions, EgressSetupError, Resolve};
use crate::gallery::ObjectGallery;
use crate::housekeeping;
use crate::http::change::Turns;
use crate::http::crowd;
use crate::http::state::AppState;
use crate::http::{Documents, Elapsed, Rates, elapsed};
use crate::images::{FileSigningKey, Images, ImagesError};
use crate::metrics::Metrics;
use crate::panel::Panel;
use crate::secrets;
use crate::traces::{Exporter, JobTraces, TraceSetupError};
use crate::webhooks::{Sender, SenderOptions, Vault, VaultError};
use actix_web::web::Data;
use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tintype_actors::clock::{Clock, random_jitter, system_clock};
use tintype_actors::fail_stop::FailStop;
use tintype_actors::generator::Generator;
use tintype_actors::observer::Observer;
use tintype_actors::outbox::OutboxLimits;
use tintype_actors::system::{Backend, Route, Routes, System, SystemOptions, Threads};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine, EngineError};
use tintype_storage::store::{Limits, Store, StoreError};
use tokio::sync::{Semaphore, watch};

/// Where sled's files lie below the data directory.
const STORE: &str = "store";
/// Attempts of deliveries under way at a time to one receiver that answers.
const MAX_ATTEMPTS_PER_RECEIVER: usize = 16;

/// What an instance is made of. Tests and benchmarks replace the parts that they look at.
pub struct Setup {
    /// The effective configuration.
    pub config: Config,
    /// What absolute links begin with.
    pub public_url: String,
    /// The moment.
    pub clock: Clock,
    /// Time for rate limits, which never goes back.
    pub elapsed: Elapsed,
    /// Where records are kept; `None` for sled in the data directory.
    pub engine: Option<Arc<dyn Engine>>,
    /// Generators in place of the configured ones, by the back end's name.
    pub generators: HashMap<String, Arc<dyn Generator>>,
    /// Looks host names up, for input images and webhooks; `None` for the system's way.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Hears of failures that end the process.
    pub fail_stop: FailStop,
}

impl Setup {
    /// The real parts.
    pub fn new(config: Config, public_url: String) -> Self {
        Self {
            config,
            public_url,
            clock: system_clock(),
            elapsed: elapsed(),
            engine: None,
            generators: HashMap::new(),
            resolver: None,
            fail_stop: FailStop::new(),
        }
    }
}

/// Why an instance could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error("the data directory {}: {source}", .path.display())]
    DataDir {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The engine could not be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The records are not as they must be.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store cannot be used.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// Outgoing connections cannot be set up.
    #[error(transparent)]
    Egress(#[from] EgressSetupError),
    /// The secrets of webhooks cannot be kept.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A back end cannot be driven as it is configured.
    #[error(transparent)]
    Backend(#[from] BackendSetupError),
    /// Traces cannot be sent.
    #[error(transparent)]
    Traces(#[from] TraceSetupError),
}

/// Where the engine's files lie.
pub fn store_dir(config: &Config) -> PathBuf {
    config.storage.data_dir.join(STORE)
}

/// Opens the engine of a data directory. `fail_stop` hears of its failure.
pub fn open_engine(config: &Config, fail_stop: FailStop) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    open(config, fail_stop, None)
}

/// Opens the engine of a data directory, or says at once that somebody else has it.
pub fn open_engine_at_once(
    config: &Config,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    open(config, fail_stop, Some(Duration::ZERO))
}

/// Opens the engine of a data directory that is being filled.
pub fn open_unfinished_engine(
    config: &Config,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    open(config, fail_stop, None)
}

/// Opens an engine in a directory that is thrown away afterwards. Who uses it hears of its failures.
pub fn open_passing_engine(directory: &Path) -> Result<Arc<dyn Engine>, EngineError> {
    let options = SledOptions::new(Arc::new(|_: &EngineError| {}));
    Ok(Arc::new(SledEngine::open(directory, options)?))
}

fn refuse_unfinished(config: &Config) -> Result<(), EngineError> {
    let data_dir = &config.storage.data_dir;
    if !backup::unfinished(data_dir).exists() {
        return Ok(());
    }
    Err(EngineError::Directory {
        path: data_dir.clone(),
        reason: "a restore or an import into it was cut off; remove what is in it, and begin again"
            .into(),
    })
}

/// Opens a copy of the store of a data directory that no service runs on, and changes nothing in that.
pub fn look_at_engine(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    Ok(Arc::new(SledEngine::look(
        &store_dir(config),
        engine_options(config, FailStop::new()),
    )?))
}

fn open(
    config: &Config,
    fail_stop: FailStop,
    lock_timeout: Option<Duration>,
) -> Result<Arc<dyn Engine>, EngineError> {
    let mut options = engine_options(config, fail_stop);
    options.lock_timeout = lock_timeout.unwrap_or(options.lock_timeout);
    Ok(Arc::new(SledEngine::open(&store_dir(config), options)?))
}

fn engine_options(config: &Config, fail_stop: FailStop) -> SledOptions {
    let mut options = SledOptions::new(Arc::new(move |error: &EngineError| {
        fail_stop.trip(error.to_string())
    }));
    options.cache_bytes = config.storage.cache_bytes;
    options.commit_timeout = Duration::from_secs(config.storage.commit_timeout_seconds);
    options
}

/// Opens the object store of a data directory.
pub fn open_images(config: &Config, public_url: &str) -> Result<Images, StartError> {
    let signing_key = FileSigningKey::load_or_create(&config.storage.data_dir)?;
    open_images_with(config, public_url, signing_key)
}

/// Opens the object store to ask for what is there, and signs nothing; `None` where it would have to be made first.
pub fn look_at_images(config: &Config) -> Result<Option<Images>, StartError> {
    let is_local = config.storage.objects.is_none();
    if is_local && !Images::local_directory(&config.storage.data_dir).is_dir() {
        return Ok(None);
    }
    let unused = FileSigningKey::from_bytes(&[0; 32]);
    open_images_with(config, &config.public_url(), unused).map(Some)
}

fn open_images_with(
    config: &Config,
    public_url: &str,
    signing_key: FileSigningKey,
) -> Result<Images, StartError> {
    let objects = config
        .storage
        .objects
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let data_dir = &config.storage.data_dir;
    Ok(Images::open(&objects, data_dir, public_url, signing_key)?)
}

/// Starts everything but the listening: store, recovery, actors, housekeeping. Must be called within an actix system.
pub async fn start(setup: Setup) -> Result<Data<AppState>, StartError> {
    let Setup {
        config,
        public_url,
        clock,
        elapsed,
        engine,
        generators,
        resolver,
        fail_stop,
    } = setup;
    // Not the clock of the setup, which decides: this is the process's own.
    let started = SystemTime::now();
    let data_dir = config.storage.data_dir.clone();
    data_dir::create(&data_dir).map_err(|source| StartError::DataDir {
        path: data_dir.clone(),
        source,
    })?;
    if let Some(warning) = data_dir::warning(&data_dir) {
        tracing::warn!("{warning}");
    }
    let engine = match engine {
        Some(engine) => engine,
        None => open_engine(&config, fail_stop.clone())?,
    };
    let store = Store::new(engine);
    let images = open_images(&config, &public_url)?;
    images.remove_unfinished_uploads().await?;
    let gallery = ObjectGallery::new(images.clone());
    let token = secrets::admin_token(config.admin.token.as_ref(), &data_dir).map_err(|source| {
        StartError::DataDir {
            path: data_dir.clone(),
            source,
        }
    })?;
    let options = EgressOptions {
        allow: config.egress.allow.clone(),
        extra_ca_file: config.egress.extra_ca_file.clone(),
        ..EgressOptions::default()
    };
    // Apart, so that host names of callers' input images cannot take the look-ups that webhooks need.
    let way_out = || match &resolver {
        Some(resolver) => Egress::with_resolver(options.clone(), Arc::clone(resolver)),
        None => Egress::new(options.clone()),
    };
    let (to_webhooks, egress) = (way_out()?, way_out()?);
    let vault = Vault::load_or_create(&data_dir, store.any_webhook()?.as_ref())?;
    let (backends, routes) = backends(&config, &images, &generators)?;
    let traces = traces(&config)?;
    let ratio = config.otlp.sample_ratio;
    let observer = traces.clone().map(|exporter| {
        let observer = JobTraces::new(exporter, Arc::clone(&clock), ratio);
        Arc::new(observer) as Arc<dyn Observer>
    });
    let system = System::start(SystemOptions {
        store: store.clone(),
        clock: Arc::clone(&clock),
        jitter: random_jitter(),
        limits: Limits {
            max_live_per_account: config.jobs.max_live_per_account as usize,
            idempotency_retention: Duration::from_secs(config.idempotency.retention_hours * 3_600),
        },
        max_runs: config.jobs.max_runs,
        run_timeout: Duration::from_secs(config.jobs.timeout_seconds),
        backends,
        routes,
        gallery: Arc::new(gallery.clone()),
        transport: Arc::new(Sender::new(SenderOptions {
            store: store.clone(),
            images: images.clone(),
            vault: vault.clone(),
            egress: to_webhooks,
            clock: Arc::clone(&clock),
            timeout: config.webhooks.attempt_timeout(),
            url_lifetime: Duration::from_secs(config.results.url_lifetime_seconds),
        })),
        retry_delays: config.webhooks.retry_delays(),
        outbox: OutboxLimits {
            total: descriptors::attempts(),
            per_receiver: MAX_ATTEMPTS_PER_RECEIVER,
        },
        observer,
        fail_stop: fail_stop.clone(),
        threads: Threads::Own,
    })?;
    let (abandoned, heard) = Line::new();
    let state = Data::new(AppState {
        catalog: catalog(&config.tiers),
        key_ring: Arc::default(),
        rates: Rates::new(config.limits.of_keys(), elapsed),
        pause: Arc::new(RwLock::new(store.pause()?)),
        admin_token: Sha256::digest(token.token.expose().as_bytes()).into(),
        gallery,
        operator: Turns::default(),
        panel: Panel::default(),
        documents: Documents::default(),
        config,
        store,
        system,
        images,
        vault,
        egress,
        clock,
        abandoned,
        orphans: Orphans::default(),
        room: Room::default(),
        stopping: watch::Sender::new(false),
        held_refusals: Semaphore::new(crowd::MOST_HELD),
        fail_stop,
        public_url,
        metrics: Metrics::since(started),
        traces,
    });
    actix_web::rt::spawn(compat::cancel_abandoned(state.clone(), heard));
    actix_web::rt::spawn(housekeeping::run(state.clone()));
    Ok(state)
}

/// Lets running jobs finish within the grace period and writes down what is left for the next start.
pub async fn finish_jobs(state: &AppState) {
    state.stopping.send_replace(true);
    state
        .system
        .drain(Duration::from_secs(
            state.config.server.shutdown_grace_seconds,
        ))
        .await;
    housekeeping::note_key_uses(state).await;
    if let Some(traces) = &state.traces {
        traces.close().await;
    }
}

/// Ends the actors, writes the last commits and lets the data directory go. Blocks for as long as the disk takes.
pub fn close(state: &AppState) {
    state.system.stop();
    state.store.engine().close();
}

/// Does the data directory hold records?
pub fn has_store(config: &Config) -> bool {
    store_dir(config).is_dir()
}

/// The way to the collector, where there is one.
fn traces(config: &Config) -> Result<Option<Arc<Exporter>>, TraceSetupError> {
    let endpoint = config.otlp.endpoint.as_deref();
    let start = |endpoint| Exporter::start(&config.otlp, endpoint).map(Arc::new);
    endpoint.map(start).transpose()
}

/// The back ends, and the tiers' lists of them. What the operator will hardly have meant is in the log.
fn backends(
    config: &Config,
    images: &Images,
    generators: &HashMap<String, Arc<dyn Generator>>,
) -> Result<(Vec<Backend>, Routes), StartError> {
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let mut backends = Vec::new();
    let mut index_of = HashMap::new();
    for (name, backend) in &config.backends {
        let generator = match generators.get(name) {
            Some(given) => Arc::clone(given),
            None => kinds::generator(name, backend, images)?,
        };
        index_of.insert(name.as_str(), backends.len());
        backends.push(Backend {
            name: name.clone(),
            generator,
            places: Arc::new(Semaphore::new(backend.concurrency)),
            timeout: backend.timeout(),
            retries: backend.retries(),
        });
    }
    let routes = |tier: Tier| {
        let settings = tier_config(&config.tiers, tier);
        // The configuration knows every back end that a tier names.
        let route = |listed: &TierBackend| {
            let name = &listed.name;
            let backend = config.backends.get(name)?;
            let model = kinds::model(backend, listed.model.as_deref(), &settings.compat_models);
            let sold = &settings.resolutions;
            if let Some(shortfall) = kinds::shortfall(backend, model.as_deref(), sold) {
                tracing::warn!(%tier, backend = %name, "{shortfall}");
            }
            Some(Route {
                backend: *index_of.get(name.as_str())?,
                model,
                weight: listed.weight,
            })
        };
        settings.backends.iter().filter_map(route).collect()
    };
    let routes = Routes([routes(Tier::Fast), routes(Tier::Quality), routes(Tier::Pro)]);
    Ok((backends, routes))
}
