//! Assembly: starts the actors in order, and is their face to the rest of the process.

use crate::account::{AccountContext, AccountRegistry};
use crate::backends::{Backend, BackendError, BackendHealth, BackendPool, Routes};
use crate::clock::{Clock, Jitter};
use crate::delivery::{DeliveryActor, DeliveryContext, DeliveryDepths, DeliveryLimits};
use crate::dispatch::{
    CutOff, DispatchContext, Dispatcher, DispatcherCommand, FailedTry, FailureBoard, ProgressBoard,
};
use crate::dispatch::{detached_jobs, expiry};
use crate::fail_stop::FailStop;
use crate::job_changes::{JobChanges, JobWatch};
use crate::node::{NodeContext, Taking};
use crate::nodes;
use crate::ports::{ImageStore, InputFetcher, Observer, Preview, Transport};
pub use crate::queue::{Backlog, Depths, NextJob};
use crate::queue::{Expiries, JobQueues, SharedQueue, WaitingJobs};
use crate::recovery::{self, Recovered};
use crate::shutdown::{Drain, delivery_depths};
use crate::stats::Stats;
use actix::{Actor, Addr, Arbiter, ArbiterHandle, AsyncContext as _, Recipient};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, IdSource, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Limits, Store, StoreError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// The threads of [`Threads::Own`].
const DECISIONS: usize = 0;
const JOBS: usize = 1;
const DELIVERIES: usize = 2;
/// A caller who waits for the end of a job reads the store again after this time, should a hint have been lost.
const POLL: Duration = Duration::from_secs(10);
/// The same where another node may change the job.
const POLL_OF_NODES: Duration = Duration::from_millis(250);

/// Where the actors run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// On three threads of their own: one for decisions, one for jobs, one for deliveries.
    #[default]
    Own,
    /// On the caller's thread, where one paused clock holds for all of them.
    Callers,
}

/// What the actors are started with.
pub struct SystemOptions {
    pub store: Store,
    pub clock: Clock,
    pub jitter: Jitter,
    pub limits: Limits,
    /// Runs that a job may have.
    pub max_runs: u32,
    /// The longest time of one run, over all tries and backends.
    pub run_timeout: Duration,
    pub backends: Vec<Backend>,
    pub routes: Routes,
    pub image_store: Arc<dyn ImageStore>,
    pub input_fetcher: Arc<dyn InputFetcher>,
    pub transport: Arc<dyn Transport>,
    /// Receives the events for the operator; `None` where none are made.
    pub operator: Option<Arc<Webhook>>,
    /// The delay before each retry of a delivery.
    pub retry_delays: Vec<Duration>,
    pub delivery_limits: DeliveryLimits,
    pub observer: Option<Arc<dyn Observer>>,
    pub fail_stop: FailStop,
    pub threads: Threads,
    /// `None` where this process is the only one on the store.
    pub node: Option<Arc<NodeContext>>,
}

pub struct System {
    accounts: Arc<AccountRegistry>,
    dispatch: Arc<DispatchContext>,
    waiting_jobs: WaitingJobs,
    dispatcher: Addr<Dispatcher>,
    deliveries: Addr<DeliveryActor>,
    arbiters: Vec<Arbiter>,
    /// What runs beside the actors until the end.
    tasks: Vec<JoinHandle<()>>,
    stopped: AtomicBool,
}

impl System {
    /// Starts the actors and puts every live job back into its queue. Blocks while it reads the live jobs.
    ///
    /// Must be called within an actix system.
    pub fn start(options: SystemOptions) -> Result<Self, StoreError> {
        let SystemOptions {
            store,
            clock,
            jitter,
            limits,
            max_runs,
            run_timeout,
            backends,
            routes,
            image_store,
            input_fetcher,
            transport,
            operator,
            retry_delays,
            delivery_limits,
            observer,
            fail_stop,
            threads,
            node,
        } = options;
        let store = fail_stop.watch(store);
        let store = match &node {
            None => store,
            Some(_) => store.shared(),
        };
        let pause = store.pause().wait()?;
        let switches = pause.clone();
        let arbiters = match threads {
            Threads::Own => vec![Arbiter::new(), Arbiter::new(), Arbiter::new()],
            Threads::Callers => Vec::new(),
        };
        let on = |at: usize| -> ArbiterHandle {
            arbiters
                .get(at)
                .map_or_else(Arbiter::current, Arbiter::handle)
        };
        let stats = Arc::new(Stats::new(backends.len(), clock()));
        let queues = Arc::new(JobQueues::default());
        let ids = Arc::new(IdSource::new(clock()));
        let delivery_context = Arc::new(DeliveryContext {
            ids: Arc::clone(&ids),
            operator: operator.clone(),
            store: store.clone(),
            clock: Arc::clone(&clock),
            retry_delays,
            limits: delivery_limits,
            transport,
            stats: Arc::clone(&stats),
            observer: observer.clone(),
            fail_stop: fail_stop.clone(),
            node: node.clone(),
        });
        let deliveries = DeliveryActor::start_in_arbiter(&on(DELIVERIES), move |ctx| {
            DeliveryActor::new(delivery_context, ctx.address())
        });
        let shared_queue = node.as_ref().map(|_| Arc::new(SharedQueue::default()));
        let waiting_jobs = WaitingJobs {
            own: Arc::clone(&queues),
            shared: shared_queue.clone(),
        };
        let account_context = Arc::new(AccountContext {
            ids,
            operator,
            store: store.clone(),
            clock,
            limits,
            pause: RwLock::new(pause),
            max_runs,
            live_jobs: AtomicUsize::new(0),
            queues: Arc::clone(&queues),
            shared_queue,
            expiries: Expiries::default(),
            deliveries: deliveries.clone().recipient(),
            job_changes: Arc::new(JobChanges::default()),
            stats: Arc::clone(&stats),
            observer: observer.clone(),
            fail_stop: fail_stop.clone(),
            node: node.clone(),
        });
        let accounts = Arc::new(AccountRegistry::new(on(DECISIONS), account_context));
        let Recovered {
            begun,
            waiting,
            detached,
        } = match &node {
            None => recovery::recover(&store, &accounts)?,
            // Its jobs are in the queue that the nodes share, or at other nodes.
            Some(_) => Recovered::default(),
        };
        let live = begun.len() + waiting.len() + detached.len();
        let live_jobs = &accounts.context().live_jobs;
        live_jobs.store(live, Ordering::Relaxed);
        begun.into_iter().for_each(|job| queues.push_begun(job));
        queues.push_all(waiting);
        queues.wake();
        let dispatch = Arc::new(DispatchContext {
            run_timeout,
            pool: BackendPool::new(backends, routes, queues.waker(), node.is_some()),
            queues,
            accounts: Arc::clone(&accounts),
            image_store: Arc::clone(&image_store),
            input_fetcher,
            progress: ProgressBoard::default(),
            failures: FailureBoard::default(),
            stats,
            observer,
            jitter,
            cut_off: CutOff::default(),
        });
        let context = Arc::clone(&dispatch);
        let dispatcher =
            Dispatcher::start_in_arbiter(&on(JOBS), move |_| Dispatcher::new(context, switches));
        let mut tasks = vec![actix::spawn(expiry::run(
            Arc::clone(&accounts),
            Arc::clone(&dispatch.queues),
        ))];
        if let Some(node) = &node {
            let started = nodes::start(node, &store, &accounts, &dispatch, &deliveries, &fail_stop);
            tasks.extend(started);
        }
        let context = Arc::clone(&accounts);
        actix::spawn(async move {
            let jobs = detached.iter().map(|job| (job.account, job.id));
            detached_jobs::cancel(jobs, &context, &image_store).await;
        });
        Ok(Self {
            accounts,
            dispatch,
            waiting_jobs,
            dispatcher,
            deliveries,
            arbiters,
            tasks,
            stopped: AtomicBool::new(false),
        })
    }

    /// The store, whose failed commits stop the service.
    pub fn store(&self) -> &Store {
        &self.accounts.context().store
    }

    pub fn accounts(&self) -> &Arc<AccountRegistry> {
        &self.accounts
    }

    /// This process among the nodes; `None` where it is the only one on the store.
    pub fn node(&self) -> Option<&NodeContext> {
        self.accounts.context().node.as_deref()
    }

    /// Waits until a node is on record among the others. A process that is the only one on its store is ready at once.
    ///
    /// # Errors
    /// The failure of the storage, which ends the process.
    pub async fn joined(&self) -> Result<(), String> {
        let Some(node) = self.node() else {
            return Ok(());
        };
        tokio::select! {
            () = node.joined() => Ok(()),
            reason = self.accounts.context().fail_stop.tripped() => Err(reason.to_string()),
        }
    }

    /// Jobs that are not terminal.
    pub fn live_jobs(&self) -> usize {
        match &self.waiting_jobs.shared {
            None => self.accounts.context().live_jobs.load(Ordering::Relaxed),
            Some(shared) => shared.live(),
        }
    }

    /// Takes [`DispatcherCommand::Pause`] once new switches are durable.
    pub fn dispatcher(&self) -> Recipient<DispatcherCommand> {
        self.dispatcher.clone().recipient()
    }

    /// Has the accounts decide under new switches from the commit on that `submit` submits.
    pub fn change_pause(&self, pause: Pause, submit: impl FnOnce()) {
        let mut decided_under = self.accounts.context().pause.write();
        submit();
        *decided_under = pause;
    }

    /// Removes a queued job from its queue, once its cancellation is durable.
    pub fn job_canceled(&self, job: &Job) {
        self.dispatch.queues.remove(job.into());
    }

    /// Begins to watch a job: a hint comes after each commit that changes it.
    pub fn watch(&self, job: JobId) -> JobWatch {
        self.accounts.context().job_changes.watch(job)
    }

    /// How many callers watch this job.
    pub fn watchers(&self, job: JobId) -> usize {
        self.accounts.context().job_changes.watchers(job)
    }

    /// Waits until a job of an account is terminal; `None` when there is no such job. Once storage has failed this never returns,
    /// so callers race it against the fail-stop and a deadline.
    pub async fn ended(&self, account: AccountId, job: JobId) -> Result<Option<Job>, StoreError> {
        // Before the first read, so that a change in between is not missed.
        let watch = self.watch(job);
        loop {
            match self.accounts.context().store.job(account, job).await? {
                Some(job) if !job.state.is_terminal() => {}
                outcome => return Ok(outcome),
            }
            let poll = match self.accounts.context().node {
                None => POLL,
                // No hint comes for what another node has changed.
                Some(_) => POLL_OF_NODES,
            };
            let _ = timeout(poll, watch.changed()).await;
        }
    }

    /// Do the dispatcher and the delivery actor run? After [`stop`](Self::stop) they need not.
    pub fn is_alive(&self) -> bool {
        let alive = self.dispatcher.connected() && self.deliveries.connected();
        alive || self.stopped.load(Ordering::Relaxed)
    }

    pub fn deliveries(&self) -> &Addr<DeliveryActor> {
        &self.deliveries
    }

    /// How far a running job's picture is, 0 to 1, where its backend reports it.
    pub fn progress(&self, job: JobId) -> Option<f32> {
        self.dispatch.progress.of(job)
    }

    /// How a running job's picture looks by now, where its backend shows that. The backend is asked for previews only while this
    /// is called.
    pub fn preview(&self, job: JobId) -> Option<Preview> {
        self.dispatch.progress.preview(job)
    }

    /// The failed tries of a job that failed, as far back as they are remembered.
    pub fn failed_tries(&self, job: JobId) -> Vec<FailedTry> {
        self.dispatch.failures.of(job)
    }

    /// What has happened since the start.
    pub fn stats(&self) -> &Stats {
        &self.dispatch.stats
    }

    /// How many deliveries wait, and how many attempts are in flight. One of several nodes counts those to the receivers that it sends to, so
    /// that the sum over the nodes is that of the service.
    pub async fn delivery_depths(&self) -> DeliveryDepths {
        let depths = delivery_depths(&self.deliveries).await;
        let Some(node) = self.node() else {
            return depths;
        };
        // The actor of a node knows only what is due soon.
        let pending = nodes::pending_deliveries(self.store(), node.id).await;
        let waiting = pending.map(|it| it.saturating_sub(depths.in_flight));
        DeliveryDepths {
            waiting: waiting.unwrap_or(depths.waiting),
            ..depths
        }
    }

    /// How many callers wait for a job to change.
    pub fn waiting_callers(&self) -> usize {
        self.accounts.context().job_changes.count()
    }

    /// What is known of waiting and running jobs, those of other nodes included.
    pub fn waiting_jobs(&self) -> &WaitingJobs {
        &self.waiting_jobs
    }

    /// The state of each backend, in the order of the configuration.
    pub fn backends(&self) -> Vec<BackendHealth> {
        self.dispatch.pool.health(Instant::now())
    }

    /// Learns what a test of a backend found that makes no picture: when it answered, or what went wrong. `backend` is its
    /// place in the configuration.
    pub fn backend_tested(&self, backend: usize, outcome: Result<Timestamp, BackendError>) {
        let pool = &self.dispatch.pool;
        pool.tested(backend, outcome, Instant::now());
    }

    /// Starts no more jobs and attempts, lets those that run finish within `grace`, and cuts the rest off; they go on after a
    /// restart. New jobs are still accepted, and wait for the restart.
    pub async fn drain(&self, grace: Duration) {
        let drain = Drain {
            dispatcher: &self.dispatcher,
            deliveries: &self.deliveries,
            queues: &self.dispatch.queues,
            cut_off: &self.dispatch.cut_off,
        };
        if let Some(node) = self.node() {
            node.begin_to_leave();
            // Waits for a take that is under way. Jobs that are taken from here on would only wait for the end of this node.
            *node.taking.lock().await = Taking::NoMore;
        }
        drain.run(grace).await;
    }

    /// Leaves the nodes, after [`drain`](Self::drain) and the last change of a record: the jobs that the node still has go on at others.
    pub async fn leave(&self) {
        if let Some(node) = self.node() {
            self.tasks.iter().for_each(JoinHandle::abort);
            // A node that cannot leave is taken for dead soon.
            if let Err(error) = nodes::leave(self.store(), node.id).await {
                tracing::warn!(%error, "this node could not leave; others take its jobs over");
            }
        }
    }

    /// Ends the actors. Commands that they have not decided are refused.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.tasks.iter().for_each(JoinHandle::abort);
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
