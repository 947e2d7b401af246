//! Start order, recovery, and the orderly stop.

use crate::account::{AccountContext, ApplyEvent};
use crate::accounts::Accounts;
use crate::breaker::Breaker;
use crate::clock::{Clock, Jitter};
use crate::delivery::{
    DeliveryActor, DeliveryContext, GetOutboxDepths, OutboxDepths, StopDelivering,
};
use crate::dispatcher::{
    Depths, Dispatcher, GetDepths, JobCanceled, JobsQueued, PauseChanged, StopDispatching,
};
use crate::fail_stop::FailStop;
use crate::figures::Figures;
use crate::generator::Gallery;
pub use crate::health::{BackendHealth, Health};
use crate::job::JobContext;
pub use crate::job::{Backend, Route, Routes};
use crate::observer::Observer;
use crate::outbox::OutboxLimits;
use crate::progress::ProgressBoard;
use crate::queues::Queues;
use crate::recovery::{self, Recovered};
use crate::transport::Transport;
use crate::watchers::{Watch, Watchers};
use actix::{Actor, Addr, Arbiter, ArbiterHandle, Recipient};
use parking_lot::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, IdSource, JobId};
use tintype_storage::domain::job::{Job, JobEvent, JobState};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::{Limits, Store, StoreError};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

/// How long cut-off runs may take to write that they were.
const CUT_OFF_GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);
/// Which of the own threads does what.
const DECISIONS: usize = 0;
const JOBS: usize = 1;
const DELIVERIES: usize = 2;

/// Where the actors run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// On three of their own: one for decisions, one for jobs, one for deliveries.
    #[default]
    Own,
    /// On the caller's alone, where one paused clock holds for all of them.
    Callers,
}

/// What the actors are started with.
pub struct SystemOptions {
    /// Where records lie.
    pub store: Store,
    /// The moment.
    pub clock: Clock,
    /// Spreads waits.
    pub jitter: Jitter,
    /// Bounds of a decision.
    pub limits: Limits,
    /// Runs that a job may have in all.
    pub max_runs: u32,
    /// Longest time of one run, over all tries and back ends.
    pub run_timeout: Duration,
    /// The configured back ends.
    pub backends: Vec<Backend>,
    /// Which tier uses which.
    pub routes: Routes,
    /// Keeps pictures.
    pub gallery: Arc<dyn Gallery>,
    /// Makes the attempts of deliveries.
    pub transport: Arc<dyn Transport>,
    /// The delay before each retry of a delivery.
    pub retry_delays: Vec<Duration>,
    /// How many attempts may be under way.
    pub outbox: OutboxLimits,
    /// Follows jobs.
    pub observer: Option<Arc<dyn Observer>>,
    /// Ends the process.
    pub fail_stop: FailStop,
    /// Where they run.
    pub threads: Threads,
}

/// How soon a caller who waits for the end of a job looks again, should a hint have been lost.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The running actors.
pub struct System {
    jobs: Arc<JobContext>,
    /// Places of each back end when none is taken.
    capacities: Vec<usize>,
    accounts: Arc<Accounts>,
    queues: Arc<Queues>,
    dispatcher: Addr<Dispatcher>,
    deliveries: Addr<DeliveryActor>,
    progress: ProgressBoard,
    figures: Arc<Figures>,
    cut_off: watch::Sender<bool>,
    cut_off_now: Arc<Notify>,
    arbiters: Vec<Arbiter>,
    stopped: AtomicBool,
}

impl System {
    /// Starts the actors and puts every live job back in its place. Blocks while it reads the live jobs.
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
            gallery,
            transport,
            retry_delays,
            outbox,
            observer,
            fail_stop,
            threads,
        } = options;
        let pause = store.pause()?;
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
        let (cut_off, hears_cut_off) = watch::channel(false);
        let cut_off_now = Arc::new(Notify::new());
        let breakers = backends.iter().map(|it| Breaker::new(&it.name)).collect();
        let capacities = backends
            .iter()
            .map(|it| it.places.available_permits())
            .collect();
        let progress = ProgressBoard::default();
        let figures = Arc::new(Figures::new(backends.len(), clock()));
        let jobs = Arc::new(JobContext {
            run_timeout,
            breakers,
            backends,
            routes,
            gallery,
            accounts: OnceLock::new(),
            progress: progress.clone(),
            figures: Arc::clone(&figures),
            observer: observer.clone(),
            jitter,
            cut_off: hears_cut_off,
            cut_off_now: Arc::clone(&cut_off_now),
        });
        let queues = Arc::new(Queues::default());
        let (for_dispatcher, filled) = (Arc::clone(&jobs), Arc::clone(&queues));
        let dispatcher = Dispatcher::start_in_arbiter(&on(JOBS), move |_| {
            Dispatcher::new(for_dispatcher, switches, filled)
        });
        let delivery_context = Arc::new(DeliveryContext {
            store: store.clone(),
            clock: Arc::clone(&clock),
            schedule: retry_delays,
            limits: outbox,
            transport,
            figures: Arc::clone(&figures),
            observer: observer.clone(),
            fail_stop: fail_stop.clone(),
        });
        let deliveries = DeliveryActor::start_in_arbiter(&on(DELIVERIES), move |_| {
            DeliveryActor::new(delivery_context)
        });
        let context = Arc::new(AccountContext {
            ids: IdSource::new(clock()),
            store: store.clone(),
            clock,
            limits,
            pause: RwLock::new(pause),
            max_runs,
            live_jobs: AtomicUsize::new(0),
            queues: Arc::clone(&queues),
            queued: dispatcher.clone().recipient(),
            owed: deliveries.clone().recipient(),
            watchers: Arc::new(Watchers::default()),
            figures: Arc::clone(&figures),
            observer,
            fail_stop,
        });
        let accounts = Arc::new(Accounts::new(on(DECISIONS), Arc::clone(&context)));
        // Set here for the only time, before any job is known to the dispatcher.
        let _ = jobs.accounts.set(Arc::clone(&accounts));
        let Recovered {
            begun,
            waiting,
            abandoned,
        } = recovery::recover(&store, &accounts)?;
        context.live_jobs.store(
            begun.len() + waiting.len() + abandoned.len(),
            Ordering::Relaxed,
        );
        begun.into_iter().for_each(|job| queues.push_begun(job));
        queues.push_all(waiting);
        dispatcher.do_send(JobsQueued);
        actix::spawn(cancel(abandoned, Arc::clone(&accounts), Arc::clone(&jobs)));
        Ok(Self {
            jobs,
            capacities,
            accounts,
            queues,
            dispatcher,
            deliveries,
            progress,
            figures,
            cut_off,
            cut_off_now,
            arbiters,
            stopped: AtomicBool::new(false),
        })
    }

    /// The account actors.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// Jobs that are not terminal.
    pub fn live_jobs(&self) -> usize {
        self.accounts.context().live_jobs.load(Ordering::Relaxed)
    }

    /// Who is to hear of new switches, once they are on the disk.
    pub fn hears_of_pauses(&self) -> Recipient<PauseChanged> {
        self.dispatcher.clone().recipient()
    }

    /// Has the accounts decide under new switches from the commit on that `submit` submits.
    pub fn change_pause(&self, pause: Pause, submit: impl FnOnce()) {
        let mut decided_under = self.accounts.context().pause.write();
        submit();
        *decided_under = pause;
    }

    /// Tells the dispatcher that a queued job was canceled, once that is on the disk.
    pub fn job_canceled(&self, job: &Job) {
        self.dispatcher.do_send(JobCanceled(job.into()));
    }

    /// Which of its tier's waiting jobs this one is, in the order in which they begin: 1 is the next. `None` for one that is
    /// not queued; only the queue of a queued one is looked at.
    pub fn queue_position(&self, job: &Job) -> Option<usize> {
        let position = || self.queues.position(job.into());
        (job.state == JobState::Queued).then(position)
    }

    /// Begins to watch a job: a hint comes after each commit that changes it.
    pub fn watch(&self, job: JobId) -> Watch {
        self.accounts.context().watchers.watch(job)
    }

    /// How many watch this job.
    pub fn watchers(&self, job: JobId) -> usize {
        self.accounts.context().watchers.of(job)
    }

    /// Waits until a job of an account is terminal; `None` when there is no such job. Once storage has failed there is no
    /// end to wait for: whoever calls this looks out for that, and for the time.
    pub async fn ended(&self, account: AccountId, job: JobId) -> Result<Option<Job>, StoreError> {
        // Before the first look, so that what changes meanwhile is not missed.
        let watch = self.watch(job);
        loop {
            match self.accounts.context().store.job(account, job)? {
                Some(job) if !job.state.is_terminal() => {}
                outcome => return Ok(outcome),
            }
            // A hint that is lost costs this much, and no more.
            let _ = timeout(LOOK_AGAIN, watch.changed()).await;
        }
    }

    /// Is there still somebody to give jobs to back ends, and to send deliveries? After [`stop`](Self::stop) nobody is asked
    /// for any more.
    pub fn is_alive(&self) -> bool {
        let alive = self.dispatcher.connected() && self.deliveries.connected();
        alive || self.stopped.load(Ordering::Relaxed)
    }

    /// The delivery actor.
    pub fn deliveries(&self) -> &Addr<DeliveryActor> {
        &self.deliveries
    }

    /// How far a running job's picture is, 0 to 1, where its back end tells; of no other job.
    pub fn progress(&self, job: JobId) -> Option<f32> {
        self.progress.of(job)
    }

    /// What has happened since the start.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// How many jobs of a tier wait, how many are run, and which has waited longest; without a message.
    pub fn queue(&self, tier: Tier) -> (usize, usize, Option<JobId>) {
        let queues = &self.queues;
        (queues.len(tier), queues.begun(tier), queues.oldest(tier))
    }

    /// How many deliveries wait, and attempts are under way.
    pub async fn outbox(&self) -> OutboxDepths {
        let depths = self.deliveries.send(GetOutboxDepths).await;
        depths.unwrap_or_default()
    }

    /// How many callers wait for news of a job.
    pub fn waiting_callers(&self) -> usize {
        self.accounts.context().watchers.count()
    }

    /// How many jobs wait and run.
    pub async fn depths(&self) -> Depths {
        self.dispatcher.send(GetDepths).await.unwrap_or_default()
    }

    /// How many jobs of one account wait and run. Asks nobody: as fast while the dispatcher is busy.
    pub fn depths_of(&self, account: AccountId) -> Depths {
        self.queues.depths_of(account)
    }

    /// How each configured back end is, as of now.
    pub fn backends(&self) -> Vec<BackendHealth> {
        let now = Instant::now();
        let all = self.jobs.backends.iter().zip(&self.jobs.breakers);
        all.zip(&self.capacities)
            .map(|((backend, breaker), capacity)| {
                let free = backend.places.available_permits();
                BackendHealth::new(&backend.name, breaker, now, *capacity, free)
            })
            .collect()
    }

    /// Starts no more jobs and attempts, lets running ones finish within `grace`, and cuts the rest off; those go on after a
    /// restart.
    ///
    /// Jobs are still accepted, and wait for the restart.
    pub async fn drain(&self, grace: Duration) {
        self.dispatcher.do_send(StopDispatching);
        self.deliveries.do_send(StopDelivering);
        if !self.idle_within(grace, true).await {
            self.cut_off.send_replace(true);
            self.cut_off_now.notify_waiters();
            // Runs write that they were cut off. Attempts that are left have nothing to write: they are made again.
            self.idle_within(CUT_OFF_GRACE, false).await;
        }
    }

    /// Ends the actors. Commands that they have not decided are refused.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }

    /// Waits until no run, and with `attempts` no attempt either, is under way.
    async fn idle_within(&self, limit: Duration, attempts: bool) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let under_way = self.outbox().await.under_way;
            if self.depths().await.running == 0 && (!attempts || under_way == 0) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL).await;
        }
    }
}

/// Cancels jobs that nobody waits for any more. What goes wrong here is written down elsewhere, or found at the next start.
async fn cancel(jobs: Vec<Job>, accounts: Arc<Accounts>, context: Arc<JobContext>) {
    for job in jobs {
        let Ok(Some(account)) = accounts.get(job.account) else {
            continue;
        };
        let (reply, canceled) = oneshot::channel();
        account.address.do_send(ApplyEvent {
            job: job.id,
            event: JobEvent::Cancel,
            note: None,
            reply,
        });
        if let Ok(Ok(_)) = canceled.await {
            context.gallery.forget_inputs(&job).await;
        }
    }
}
