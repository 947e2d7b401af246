//! Assembly: starts the actors in order, and represents them to the rest of the process.

use crate::account::{AccountContext, AccountRegistry};
use crate::backends::{BackendError, BackendHealth, BackendPool};
use crate::clock::Jitter;
pub use crate::delivery::DeliveryOptions;
use crate::delivery::{DeliveryActor, DeliveryContext, DeliveryDepths};
use crate::dispatch::{
    CutOff, DispatchContext, Dispatcher, FailedAttempt, RecentFailures, RunProgress,
};
use crate::dispatch::{abandoned_jobs, expiry};
use crate::job_changes::{JobChanges, JobWatch};
use crate::node::NodeContext;
use crate::nodes;
use crate::ports::Preview;
use crate::process_context::{DurableBackendPauses, ProcessContext};
pub use crate::queue::{Backlog, Depths, JobQueue, NextJob, QueuedJob};
use crate::queue::{LocalQueue, SharedQueue};
use crate::recovery;
use crate::shutdown::Drain;
use crate::stats::Stats;
pub use crate::system_options::{JobOptions, ProcessOptions, SystemOptions, Threads};
use actix::{Actor, Addr, Arbiter, ArbiterHandle, AsyncContext as _};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, IdSource, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// The threads of [`Threads::Own`].
const DECISIONS: usize = 0;
const JOBS: usize = 1;
const DELIVERIES: usize = 2;
/// A caller that waits for the end of a job reads the store this often, in case a hint is lost.
const POLL: Duration = Duration::from_secs(10);
/// The same for several nodes: another node that changes the job sends no hint.
const MULTI_NODE_POLL: Duration = Duration::from_millis(250);

pub struct System {
    dispatch: Arc<DispatchContext>,
    dispatcher: Addr<Dispatcher>,
    deliveries: Addr<DeliveryActor>,
    arbiters: Vec<Arbiter>,
    /// Background tasks, aborted by [`stop`](Self::stop).
    tasks: Vec<JoinHandle<()>>,
    stopped: AtomicBool,
}

impl System {
    /// Starts the actors, and queues every live job again. Blocks while it reads the live jobs.
    ///
    /// Must be called within an actix system.
    pub fn start(options: SystemOptions) -> Result<Self, StoreError> {
        let SystemOptions {
            store,
            jobs,
            deliveries,
            process,
        } = options;
        let (threads, jitter) = (process.threads, Arc::clone(&process.jitter));
        let process = process_context(process, store, jobs.backends.len())?;
        let arbiters = match threads {
            Threads::Own => vec![Arbiter::new(), Arbiter::new(), Arbiter::new()],
            Threads::Callers => Vec::new(),
        };
        let on = |at: usize| {
            arbiters
                .get(at)
                .map_or_else(Arbiter::current, Arbiter::handle)
        };
        let deliveries = start_deliveries(&process, deliveries, &on(DELIVERIES));
        let context = account_context(&process, &jobs, &deliveries);
        let accounts = Arc::new(AccountRegistry::new(on(DECISIONS), context));
        let dispatch = dispatch_context(&process, jobs, jitter, &accounts);
        let (abandoned, mut tasks) = match &process.node {
            None => (recovery::recover(&process.store, &accounts)?, Vec::new()),
            // All jobs are in the shared queue, or at other nodes.
            Some(node) => (Vec::new(), nodes::start(node, &dispatch, &deliveries)),
        };
        let context = Arc::clone(&dispatch);
        let dispatcher = Dispatcher::start_in_arbiter(&on(JOBS), move |_| Dispatcher::new(context));
        tasks.push(actix::spawn(expiry::run(Arc::clone(&dispatch))));
        let context = Arc::clone(&dispatch);
        actix::spawn(async move { abandoned_jobs::cancel(abandoned, &context).await });
        Ok(Self {
            dispatch,
            dispatcher,
            deliveries,
            arbiters,
            tasks,
            stopped: AtomicBool::new(false),
        })
    }

    pub fn process(&self) -> &Arc<ProcessContext> {
        &self.dispatch.process
    }

    /// The store. Its failed commits trip the fail-stop.
    pub fn store(&self) -> &Store {
        &self.dispatch.process.store
    }

    pub fn accounts(&self) -> &Arc<AccountRegistry> {
        &self.dispatch.accounts
    }

    /// `None` for a single process, which has its queue in memory.
    pub fn node(&self) -> Option<&NodeContext> {
        self.dispatch.process.node.as_deref()
    }

    /// Waits until one of several nodes has joined. A single node is ready at once.
    ///
    /// # Errors
    /// The reason of the fail-stop.
    pub async fn joined(&self) -> Result<(), String> {
        let Some(node) = self.node() else {
            return Ok(());
        };
        tokio::select! {
            () = node.joined() => Ok(()),
            reason = self.accounts().fail_stop().tripped() => Err(reason.to_string()),
        }
    }

    /// Can images be stored? If not, no queued job starts.
    pub fn can_store_images(&self) -> bool {
        self.dispatch.job_objects.is_usable()
    }

    /// Does a job of this tier that is queued now begin at once, if no other one waits?
    pub fn has_idle_backend(&self, tier: Tier) -> bool {
        if !self.can_store_images() {
            return false;
        }
        let pool = &self.dispatch.pool;
        match self.node() {
            None => pool.own_slots(tier, Instant::now()) > 0,
            Some(node) => self.queue().begun(tier) < pool.slots_in_service(tier) * node.count(),
        }
    }

    /// Are all backends of the tier paused? Then none of its jobs starts.
    pub fn has_only_paused_backends(&self, tier: Tier) -> bool {
        self.dispatch.pool.has_only_paused_backends(tier)
    }

    /// Would a backend of the tier admit a run now, as far as this node knows? Otherwise queued jobs wait.
    pub fn has_backend_in_service(&self, tier: Tier) -> bool {
        self.dispatch.pool.has_backend_in_service(tier)
    }

    /// Does no backend serve the tier before a cool-down or a pause ends, as far as this node knows?
    pub fn is_out_of_service(&self, tier: Tier) -> bool {
        self.dispatch.pool.is_out_of_service(tier)
    }

    /// Has another node begun jobs of the tier that have not ended? It may reach a backend that this node does not.
    pub fn runs_elsewhere(&self, tier: Tier) -> bool {
        self.queue().runs_elsewhere(tier)
    }

    /// The time until the next probe of a backend of the tier; `None` if no probe is scheduled.
    pub fn time_to_probe(&self, tier: Tier) -> Option<Duration> {
        let at = self.dispatch.pool.next_probe_of(tier)?;
        Some(at.saturating_duration_since(Instant::now()))
    }

    /// Receives operator events.
    pub fn operator_webhook(&self) -> Option<&Webhook> {
        self.dispatch.process.operator.as_deref()
    }

    /// Changes the paused models for the decisions of all accounts, from the commit on that `submit` submits. Call
    /// [`AccountRegistry::publish_pause`] once the commit is durable.
    pub fn change_pause(&self, pause: Pause, submit: impl FnOnce()) {
        let mut current = self.accounts().context().submitted_pause.write();
        submit();
        *current = pause;
    }

    pub fn watch(&self, job: JobId) -> JobWatch {
        self.accounts().context().job_changes.watch(job)
    }

    pub fn watchers(&self, job: JobId) -> usize {
        self.accounts().context().job_changes.watchers(job)
    }

    /// Waits until a job of an account is terminal; `None` if the job does not exist. Never returns after a storage failure, so callers
    /// must race it against the fail-stop and a deadline.
    pub async fn ended(&self, account: AccountId, job: JobId) -> Result<Option<Job>, StoreError> {
        // Watched before the first read, so that a change in between is not missed.
        let watch = self.watch(job);
        loop {
            match self.dispatch.process.store.job(account, job).await? {
                Some(job) if !job.state.is_terminal() => {}
                outcome => return Ok(outcome),
            }
            let poll = match self.dispatch.process.node {
                None => POLL,
                Some(_) => MULTI_NODE_POLL,
            };
            let _ = timeout(poll, watch.changed()).await;
        }
    }

    /// Do the dispatcher and the delivery actor run, or has [`stop`](Self::stop) been called?
    pub fn is_alive(&self) -> bool {
        let alive = self.dispatcher.connected() && self.deliveries.connected();
        alive || self.stopped.load(Ordering::Relaxed)
    }

    pub fn deliveries(&self) -> &Addr<DeliveryActor> {
        &self.deliveries
    }

    /// The finished fraction of a running job's image, 0 to 1, if its backend reports it.
    pub fn progress(&self, job: JobId) -> Option<f32> {
        self.dispatch.progress.of(job)
    }

    /// The newest preview of a running job's image, if its backend supports previews. The backend is asked for previews only while this
    /// is called.
    pub fn preview(&self, job: JobId) -> Option<Preview> {
        self.dispatch.progress.preview(job)
    }

    /// The failed attempts of a failed job, if they are still remembered.
    pub fn failed_attempts(&self, job: JobId) -> Vec<FailedAttempt> {
        self.dispatch.failures.of(job)
    }

    pub fn stats(&self) -> &Stats {
        &self.dispatch.process.stats
    }

    /// One of several nodes counts the deliveries to the receivers of its shards, so that the sum over the nodes is that of the service.
    pub async fn delivery_depths(&self) -> DeliveryDepths {
        let depths = DeliveryDepths::of(&self.deliveries).await;
        let Some(node) = self.node() else {
            return depths;
        };
        // The actor of one of several nodes schedules only the deliveries that are due soon.
        let pending = nodes::pending_deliveries(self.store(), node.id).await;
        let waiting = pending.map(|it| it.saturating_sub(depths.in_flight));
        DeliveryDepths {
            waiting: waiting.unwrap_or(depths.waiting),
            ..depths
        }
    }

    /// The number of callers that wait for any job to change.
    pub fn waiting_callers(&self) -> usize {
        self.accounts().context().job_changes.count()
    }

    /// The live jobs, including those of other nodes.
    pub fn queue(&self) -> &dyn JobQueue {
        &*self.dispatch.queue
    }

    /// In configuration order.
    pub fn backends(&self) -> Vec<BackendHealth> {
        self.dispatch.pool.health(Instant::now())
    }

    /// Records a test of a backend that generates no image: when the backend answered, or its error. `backend` is its index in the
    /// configuration.
    pub fn backend_tested(&self, backend: usize, outcome: Result<Timestamp, BackendError>) {
        let pool = &self.dispatch.pool;
        pool.tested(backend, outcome, Instant::now());
    }

    /// Starts no more jobs and attempts, lets running ones finish within `grace`, and cuts off the rest, which go on after a restart.
    /// New jobs are still accepted, and wait for the restart.
    pub async fn drain(&self, grace: Duration) {
        let drain = Drain {
            dispatcher: &self.dispatcher,
            deliveries: &self.deliveries,
            local_queue: &self.dispatch.local_queue,
            cut_off: &self.dispatch.cut_off,
        };
        if let Some(node) = self.node() {
            node.begin_to_leave();
        }
        drain.run(grace).await;
    }

    /// Lets the remaining jobs of this node go on at the others. Call it after [`drain`](Self::drain). The node stays on record, because
    /// it still answers calls, which take locks.
    pub async fn return_jobs(&self) {
        if let Some(node) = self.node() {
            // Waits for a take in flight.
            let _taking = node.taking.lock().await;
            // See `leave`.
            if self.dispatch.local_queue.in_progress() == 0
                && let Err(error) = nodes::return_jobs(self.store(), node.id).await
            {
                tracing::warn!(%error, "could not return jobs to the queue");
            }
        }
    }

    /// Leaves the other nodes. Call it after [`drain`](Self::drain), the last call and the last change of a record. The remaining jobs of
    /// this node go on at the others.
    pub async fn leave(&self) {
        if let Some(node) = self.node() {
            let _taking = node.taking.lock().await;
            // A heartbeat after the removal would find that the node was declared dead.
            self.tasks.iter().for_each(JoinHandle::abort);
            // While a change of a run is in progress, no other node may continue the job: the late change would miscount its runs. The
            // others declare this node dead, which fences it, and then take over its jobs.
            let runs = self.dispatch.local_queue.in_progress();
            if runs > 0 {
                return tracing::warn!(
                    runs,
                    "runs could not record their end in time; the other nodes take over when they have declared this node dead"
                );
            }
            // The others declare a node dead that cannot leave.
            if let Err(error) = nodes::leave(self.store(), node.id).await {
                tracing::warn!(%error, "this node could not leave the cluster; the other nodes take over its jobs");
            }
        }
    }

    /// Stops the actors. Undecided commands are refused.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.tasks.iter().for_each(JoinHandle::abort);
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}

/// The context of all actors.
fn process_context(
    options: ProcessOptions,
    store: Store,
    backends: usize,
) -> Result<Arc<ProcessContext>, StoreError> {
    let ProcessOptions {
        clock,
        observer,
        fail_stop,
        operator,
        node,
        ..
    } = options;
    let store = fail_stop.watch(store);
    Ok(Arc::new(ProcessContext {
        durable_pause: Arc::new(RwLock::new(store.pause().wait()?)),
        durable_backend_pauses: Arc::new(DurableBackendPauses::new(store.backend_pauses().wait()?)),
        store,
        ids: Arc::new(IdSource::new(clock())),
        operator,
        stats: Arc::new(Stats::new(backends, clock())),
        clock,
        observer,
        fail_stop,
        node,
    }))
}

fn start_deliveries(
    process: &Arc<ProcessContext>,
    options: DeliveryOptions,
    arbiter: &ArbiterHandle,
) -> Addr<DeliveryActor> {
    let context = Arc::new(DeliveryContext {
        process: Arc::clone(process),
        options,
    });
    DeliveryActor::start_in_arbiter(arbiter, move |ctx| {
        DeliveryActor::new(context, ctx.address())
    })
}

fn account_context(
    process: &Arc<ProcessContext>,
    jobs: &JobOptions,
    deliveries: &Addr<DeliveryActor>,
) -> Arc<AccountContext> {
    let local_queue = Arc::<LocalQueue>::default();
    let queue: Arc<dyn JobQueue> = match &process.node {
        None => Arc::clone(&local_queue) as _,
        Some(node) => Arc::new(SharedQueue::new(Arc::clone(node), Arc::clone(&local_queue))),
    };
    Arc::new(AccountContext {
        process: Arc::clone(process),
        limits: jobs.limits,
        submitted_pause: RwLock::new(process.durable_pause.read().clone()),
        queue,
        local_queue,
        deliveries: deliveries.clone().recipient(),
        job_changes: Arc::new(JobChanges::default()),
    })
}

fn dispatch_context(
    process: &Arc<ProcessContext>,
    jobs: JobOptions,
    jitter: Jitter,
    accounts: &Arc<AccountRegistry>,
) -> Arc<DispatchContext> {
    let AccountContext {
        queue, local_queue, ..
    } = accounts.context();
    let waker = local_queue.waker();
    let is_cluster = process.node.is_some();
    Arc::new(DispatchContext {
        process: Arc::clone(process),
        max_runs: jobs.max_runs,
        run_timeout: jobs.run_timeout,
        queue: Arc::clone(queue),
        local_queue: Arc::clone(local_queue),
        pool: BackendPool::new(
            jobs.backends,
            jobs.routes,
            waker,
            is_cluster,
            Arc::clone(&process.durable_backend_pauses),
        ),
        accounts: Arc::clone(accounts),
        job_objects: jobs.job_objects,
        input_fetcher: jobs.input_fetcher,
        progress: RunProgress::default(),
        failures: RecentFailures::default(),
        jitter,
        cut_off: CutOff::default(),
    })
}

impl Drop for System {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
