//! Starts an instance: opens its parts in order and wires them together.

use super::backends::backends;
use super::engine::{open_engine, store_dir};
use super::instance_secrets::InstanceSecrets;
use super::node_process::node_process;
use super::start_error::StartError;
use super::{data_dir_lock, database_clock, fd_limits, maintenance, service_marks, sweeps};
use crate::application::core::Core;
use crate::application::credentials::authentication::Authentication;
use crate::application::jobs::search_index;
use crate::application::limits::call_limits::CallLimits;
use crate::application::limits::damaged_inputs::DamagedInputs;
use crate::application::limits::rate_limit::{Elapsed, elapsed};
use crate::application::nodes::maintainer::Maintainer;
use crate::application::nodes::rate_exchange;
use crate::application::operations::{pause, readiness};
use crate::application::services::{AccountService, GenerationService, JobService, WebhookService};
use crate::application::settings::Settings;
use crate::backends::damaged_inputs::OnDamagedInput;
use crate::batch_inputs::BatchInputs;
use crate::catalog::catalog;
use crate::compat::{self, CompatState, DisconnectSender};
use crate::config::{self, Config};
use crate::data_dir;
use crate::http::{Documents, documents};
use crate::inputs::{InputImages, JobInputs};
use crate::objects::ObjectStorage;
use crate::observability::metrics::Metrics;
use crate::observability::traces::{Exporter, JobTraces, TraceSetupError};
use crate::outgoing_http::USER_AGENT;
use crate::panel::Panel;
use crate::result_store::{ResultStore, Writers};
use crate::webhooks::{Sender, Vault};
use actix_web::rt::spawn;
use actix_web::web::{Data, ServiceConfig};
use ipnet::{Ipv4Net, Ipv6Net};
use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tintype_actors::backends::{Backend, Routes};
use tintype_actors::clock::{Clock, random_jitter, system_clock};
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::node::NodeContext;
use tintype_actors::ports::Generator;
use tintype_actors::ports::Observer;
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, System, SystemOptions, Threads,
};
use tintype_egress::header::HeaderValue;
use tintype_egress::{Client, ClientOptions, Resolve};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::NodeProcess;
use tintype_storage::domain::operator_event::OPERATOR_WEBHOOK;
use tintype_storage::domain::secret::Secret;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Engine;
use tintype_storage::store::{Limits, Store};
use uuid::Uuid;

/// Concurrent delivery attempts to one healthy receiver.
const MAX_ATTEMPTS_PER_RECEIVER: usize = 16;

/// The parts of an instance. Tests and benchmarks replace some of them.
pub struct Setup {
    pub config: Config,
    /// The prefix of absolute links.
    pub public_url: String,
    /// `None`: the database's clock if nodes share a database, else the system's.
    pub clock: Option<Clock>,
    /// Monotonic time for rate limits.
    pub elapsed: Elapsed,
    /// Stores the records. `None`: the configured engine.
    pub engine: Option<Arc<dyn Engine>>,
    /// This process's id among the nodes that share the engine. `None`: a single process.
    pub node: Option<NodeId>,
    /// Whether to wait some seconds for a process that has the data directory open, such as a predecessor that exits.
    pub waits_for_predecessor: bool,
    /// Whether to continue the jobs and deliveries in the store. Otherwise the start fails if there are any.
    pub resumes_work: bool,
    /// Replaces the generators of configured backends, by backend name.
    pub generators: HashMap<String, Arc<dyn Generator>>,
    /// Resolves the host names of input images and webhooks. `None`: the system resolver.
    pub resolver: Option<Arc<dyn Resolve>>,
    pub fail_stop: FailStop,
    /// How often expired records and objects are removed.
    pub sweep_interval: Duration,
}

impl Setup {
    /// The parts for production.
    pub fn new(config: Config, public_url: String) -> Self {
        let is_shared = config.storage.url.is_some();
        Self {
            config,
            public_url,
            clock: None,
            elapsed: elapsed(),
            engine: None,
            node: is_shared.then(|| NodeId(Uuid::new_v4())),
            waits_for_predecessor: true,
            resumes_work: true,
            generators: HashMap::new(),
            resolver: None,
            fail_stop: FailStop::new(),
            sweep_interval: sweeps::INTERVAL,
        }
    }
}

/// A running instance: the services that its HTTP workers share.
#[derive(Clone)]
pub struct Instance {
    pub core: Data<Core>,
    pub settings: Data<Settings>,
    pub accounts: Data<AccountService>,
    pub jobs: Data<JobService>,
    pub webhooks: Data<WebhookService>,
    pub generations: Data<GenerationService>,
    pub compat: Data<CompatState>,
    /// Whether this node does the work that one node does for all.
    pub maintainer: Data<Maintainer>,
    /// Describes this process to the operator.
    process: Data<NodeProcess>,
    pub(super) panel: Data<Panel>,
    pub(super) documents: Data<Documents>,
    pub(super) metrics: Data<Metrics>,
    pub(super) exporter: Option<Arc<Exporter>>,
    /// Released with the last clone.
    _data_dir_lock: Option<Arc<File>>,
}

impl Instance {
    /// Gives handlers the services.
    pub(super) fn provide(&self, app: &mut ServiceConfig) {
        app.app_data(self.core.clone())
            .app_data(self.settings.clone())
            .app_data(self.accounts.clone())
            .app_data(self.jobs.clone())
            .app_data(self.webhooks.clone())
            .app_data(self.generations.clone())
            .app_data(self.compat.clone())
            .app_data(self.process.clone())
            .app_data(self.panel.clone())
            .app_data(self.documents.clone())
            .app_data(self.metrics.clone())
            .app_data(self.metrics.requests.worker());
    }

    /// Starts the work that no call causes.
    fn spawn_tasks(&self, sweep_interval: Duration) {
        let (core, maintainer) = (&self.core, &self.maintainer);
        let (accounts, jobs) = (self.accounts.clone(), self.jobs.clone());
        spawn(maintenance::run(accounts, jobs, maintainer.clone()));
        let jobs = self.jobs.clone();
        spawn(sweeps::run(jobs, maintainer.clone(), sweep_interval));
        spawn(search_index::run(
            core.clone().into_inner(),
            maintainer.clone().into_inner(),
        ));
        if core.system.node().is_some() {
            spawn(pause::follow(core.clone().into_inner()));
            spawn(rate_exchange::run(self.accounts.clone().into_inner()));
        }
        spawn(readiness::watch(self.jobs.clone().into_inner()));
    }

    /// Gives the handlers of the separate address of the metrics their services.
    pub(super) fn provide_metrics(&self, app: &mut ServiceConfig) {
        app.app_data(self.core.clone())
            .app_data(self.jobs.clone())
            .app_data(self.metrics.clone())
            .app_data(self.metrics.requests.worker());
    }
}

/// Starts the store, recovery, the actors and maintenance, but no listener. The caller must run an actix system.
pub async fn start(setup: Setup) -> Result<Instance, StartError> {
    // The node page and metrics show this machine's own time. The setup's clock serves decisions only.
    let started = SystemTime::now();
    let config = &setup.config;
    let mut stores = Stores::open(&setup).await?;
    let data_dir_lock = stores.data_dir_lock.take().map(Arc::new);
    if !setup.resumes_work {
        stores.expect_no_work().await?;
    }
    let clients = Clients::new(&setup)?;
    let vault = stores.secrets.open_vault(config, &stores.store).await?;
    let damaged_inputs = Arc::new(DamagedInputs::new(&setup.elapsed));
    let on_damaged_input: OnDamagedInput = {
        let damaged_inputs = Arc::clone(&damaged_inputs);
        Arc::new(move |key| damaged_inputs.add(key))
    };
    let (objects, generators) = (&stores.objects, &setup.generators);
    let backends = backends(config, objects, generators, &on_damaged_input)?;
    let process = node_process(config, started);
    let traces = trace_exporter(config)?;
    let inputs = Arc::new(InputImages::new(
        config,
        clients.egress.clone(),
        stores.objects.clone(),
        stores.store.clone(),
        Arc::clone(&stores.clock),
    ));
    let system = System::start(SystemOptions {
        store: stores.store.clone(),
        jobs: job_options(config, &stores, backends, Arc::clone(&inputs)),
        deliveries: delivery_options(config, &stores, &clients, &vault),
        process: process_options(&setup, &stores.clock, &process, traces.clone()),
    })?;
    system.joined().await.map_err(StartError::Join)?;
    let metrics = Metrics::new(
        started,
        config.storage.data_dir.clone(),
        store_dir(config),
        traces.clone(),
    );
    let settings = Arc::new(Settings {
        catalog: catalog(&config.tiers),
        config: setup.config,
        public_url: setup.public_url,
    });
    let currency = settings.config.billing.currency.clone();
    let clock = Arc::clone(&stores.clock);
    let core = Arc::new(Core::new(system, clock, setup.fail_stop, currency));
    let limits = &settings.config.limits;
    let limits = CallLimits::new(limits, damaged_inputs, &setup.elapsed);
    let is_shared = core.system.node().is_some();
    let auth = Authentication::new(stores.token.expose(), setup.elapsed, is_shared);
    let limits = Arc::new(limits);
    let accounts = Data::new(AccountService {
        core: Arc::clone(&core),
        settings: Arc::clone(&settings),
        auth,
        limits: Arc::clone(&limits),
    });
    let jobs = Data::new(JobService {
        core: Arc::clone(&core),
        settings: Arc::clone(&settings),
        objects: stores.objects.clone(),
        inputs: stores.job_inputs,
    });
    let webhooks = Data::new(WebhookService {
        core: Arc::clone(&core),
        vault,
        egress: clients.egress,
    });
    let generations = Data::new(GenerationService {
        core: Arc::clone(&core),
        settings: Arc::clone(&settings),
        limits,
        objects: stores.objects,
        inputs,
    });
    let (disconnects, disconnected) = DisconnectSender::new();
    let compat = CompatState::new(&accounts, &jobs, &generations, disconnects);
    let recent_calls = Arc::clone(&compat.recent_calls);
    spawn(compat::cancel_disconnected(
        jobs.clone(),
        recent_calls,
        disconnected,
    ));
    let instance = Instance {
        core: Data::from(core),
        settings: Data::from(settings),
        accounts,
        jobs,
        webhooks,
        generations,
        compat: Data::new(compat),
        maintainer: Data::new(Maintainer::new(!is_shared)),
        process: Data::new(process),
        panel: Data::default(),
        documents: Data::new(documents()),
        metrics: Data::new(metrics),
        exporter: traces,
        _data_dir_lock: data_dir_lock,
    };
    instance.spawn_tasks(setup.sweep_interval);
    Ok(instance)
}

/// The records and objects of an instance, with the secrets that belong to them.
struct Stores {
    store: Store,
    clock: Clock,
    secrets: InstanceSecrets,
    objects: ObjectStorage,
    writers: Writers,
    job_inputs: JobInputs,
    /// The operator's.
    token: config::Secret,
    /// `None` if the engine locks the data directory.
    data_dir_lock: Option<File>,
}

impl Stores {
    /// Opens the data directory, the engine and the object store.
    async fn open(setup: &Setup) -> Result<Self, StartError> {
        let config = &setup.config;
        let data_dir = &config.storage.data_dir;
        data_dir::create(data_dir).map_err(|error| StartError::DataDir {
            path: data_dir.clone(),
            error,
        })?;
        if let Some(warning) = data_dir::warning(data_dir) {
            tracing::warn!("{warning}");
        }
        let data_dir_lock = match &config.storage.url {
            Some(_) => Some(data_dir_lock::lock(data_dir, setup.waits_for_predecessor).await?),
            None => None,
        };
        let engine = match &setup.engine {
            Some(engine) => Arc::clone(engine),
            None => {
                let (fail_stop, waits) = (setup.fail_stop.clone(), setup.waits_for_predecessor);
                open_engine(config, setup.node, fail_stop, waits)?
            }
        };
        let clock = match &setup.clock {
            Some(clock) => Arc::clone(clock),
            None => {
                let database_clock = database_clock::start(&engine).await?;
                database_clock.unwrap_or_else(system_clock)
            }
        };
        let store = Store::new(engine);
        let secrets = InstanceSecrets::new(config, setup.node.is_some())?;
        let objects = secrets.open_objects(config, &setup.public_url)?;
        service_marks::check(config, &store, &objects).await?;
        objects.remove_unfinished_uploads("", None).await?;
        let (writers, job_inputs) = match setup.node {
            Some(_) => (Writers::Nodes, JobInputs::of_node(objects.clone())),
            None => (Writers::One, JobInputs::of_process(objects.clone())),
        };
        let token = secrets.admin_token(config)?;
        Ok(Self {
            store,
            clock,
            secrets,
            objects,
            writers,
            job_inputs,
            token,
            data_dir_lock,
        })
    }

    async fn expect_no_work(&self) -> Result<(), StartError> {
        let mut jobs = 0;
        let count = |_| {
            jobs += 1;
            Ok(())
        };
        self.store.each_live_job(count).await?;
        let deliveries = self.store.pending_deliveries(usize::MAX).await?;
        match (jobs, deliveries) {
            (0, 0) => Ok(()),
            (jobs, deliveries) => Err(StartError::UnfinishedWork { jobs, deliveries }),
        }
    }
}

/// The HTTP clients.
struct Clients {
    /// For callers' input images and webhook URLs.
    egress: Client,
    /// For deliveries. Separate, so that lookups for callers' input images cannot delay deliveries.
    webhooks: Client,
    /// For the operator's webhook, which may have any address.
    ungated: Client,
}

impl Clients {
    fn new(setup: &Setup) -> Result<Self, StartError> {
        let config = &setup.config.egress;
        let options = ClientOptions {
            allow: config.allow.clone(),
            deny: config.deny.clone(),
            user_agent: Some(HeaderValue::from_static(USER_AGENT)),
            extra_ca_file: config.extra_ca_file.clone(),
            ..ClientOptions::default()
        };
        let client = |options| match &setup.resolver {
            Some(resolver) => Client::with_resolver(options, Arc::clone(resolver)),
            None => Client::new(options),
        };
        Ok(Self {
            webhooks: client(options.clone())?,
            egress: client(options.clone())?,
            ungated: client(ClientOptions {
                allow: vec![Ipv4Net::default().into(), Ipv6Net::default().into()],
                deny: Vec::new(),
                ..options
            })?,
        })
    }
}

fn job_options(
    config: &Config,
    stores: &Stores,
    (backends, routes): (Vec<Backend>, Routes),
    inputs: Arc<InputImages>,
) -> JobOptions {
    let (objects, job_inputs) = (stores.objects.clone(), stores.job_inputs.clone());
    JobOptions {
        limits: Limits {
            max_live_per_account: config.jobs.max_live_per_account as usize,
            idempotency_retention: config.idempotency.retention(),
        },
        max_runs: config.jobs.max_runs,
        run_timeout: config.jobs.timeout(),
        backends,
        routes,
        input_fetcher: Arc::new(BatchInputs {
            inputs,
            objects: objects.clone(),
            catalog: catalog(&config.tiers),
        }),
        job_objects: Arc::new(ResultStore::new(objects, stores.writers, job_inputs)),
    }
}

fn delivery_options(
    config: &Config,
    stores: &Stores,
    clients: &Clients,
    vault: &Vault,
) -> DeliveryOptions {
    DeliveryOptions {
        transport: Arc::new(Sender {
            store: stores.store.clone(),
            objects: stores.objects.clone(),
            vault: vault.clone(),
            egress: clients.webhooks.clone(),
            ungated: clients.ungated.clone(),
            clock: Arc::clone(&stores.clock),
            timeout: config.webhooks.attempt_timeout(),
            url_lifetime: config.results.url_lifetime(),
        }),
        operator_webhook: operator_webhook(config, vault).map(Arc::new),
        retry_delays: config.webhooks.retry_delays(),
        limits: DeliveryLimits {
            total: fd_limits::max_delivery_attempts(),
            per_receiver: MAX_ATTEMPTS_PER_RECEIVER,
        },
    }
}

fn process_options(
    setup: &Setup,
    clock: &Clock,
    process: &NodeProcess,
    traces: Option<Arc<Exporter>>,
) -> ProcessOptions {
    let ratio = setup.config.otlp.sample_ratio;
    let observer = traces.map(|exporter| {
        let observer = JobTraces::new(exporter, Arc::clone(clock), ratio);
        Arc::new(observer) as Arc<dyn Observer>
    });
    ProcessOptions {
        clock: Arc::clone(clock),
        jitter: random_jitter(),
        observer,
        fail_stop: setup.fail_stop.clone(),
        threads: Threads::Own,
        node: setup.node.map(|id| {
            let node = NodeContext::new(id, setup.config.cluster.dead_after());
            Arc::new(node.with_process(process.clone()))
        }),
    }
}

fn operator_webhook(config: &Config, vault: &Vault) -> Option<Webhook> {
    let url = config.operator.webhook_url.clone()?;
    // The configuration has validated both.
    let secret = config.operator.webhook_secret.as_ref()?;
    let secret = Secret::parse(secret.expose()).ok()?;
    let sealed = vault.seal(OPERATOR_WEBHOOK, &secret);
    Some(Webhook::of_operator(url, sealed))
}

fn trace_exporter(config: &Config) -> Result<Option<Arc<Exporter>>, TraceSetupError> {
    let endpoint = config.otlp.endpoint.as_deref();
    let start = |endpoint| Exporter::start(&config.otlp, endpoint).map(Arc::new);
    endpoint.map(start).transpose()
}
