//! The job actor: one accepted job, from queued to terminal.

use crate::accounts::Accounts;
use crate::breaker::Breaker;
use crate::clock::Jitter;
use crate::dispatcher::{Dispatcher, JobEnded};
use crate::figures::Figures;
use crate::generator::{Gallery, Generator};
use crate::observer::Observer;
use crate::permit::Granted;
use crate::progress::ProgressBoard;
use crate::run;
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, Supervised, WrapFuture};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::tier::Tier;
use tokio::sync::{Notify, Semaphore, watch};

/// A configured back end.
pub struct Backend {
    /// The operator's name for it.
    pub name: String,
    /// What makes the pictures.
    pub generator: Arc<dyn Generator>,
    /// How many runs it takes at a time.
    pub places: Arc<Semaphore>,
    /// Longest time of one try.
    pub timeout: Duration,
    /// Further tries after a transient fault.
    pub retries: u32,
}

/// One step of a tier's list of back ends.
#[derive(Clone, Debug)]
pub struct Route {
    /// Index of the back end.
    pub backend: usize,
    /// The back end's own name of the model.
    pub model: Option<String>,
    /// Its share of the runs, where the tier spreads them. Back ends without a weight beside ones with are in reserve.
    pub weight: Option<u32>,
}

/// The back ends of each tier, in order of preference; at least one each.
#[derive(Clone, Debug)]
pub struct Routes(pub [Vec<Route>; 3]);

impl Routes {
    /// The list of a tier.
    pub fn of(&self, tier: Tier) -> &[Route] {
        &self.0[tier.index()]
    }
}

/// What all job actors share.
pub struct JobContext {
    /// Longest time of one run, over all tries and back ends, without what it waits for places.
    pub run_timeout: Duration,
    /// The configured back ends.
    pub backends: Vec<Backend>,
    /// The breaker of each back end.
    pub breakers: Vec<Breaker>,
    /// Which tier uses which.
    pub routes: Routes,
    /// Keeps pictures.
    pub gallery: Arc<dyn Gallery>,
    /// Decides; set once at the start, for accounts and dispatcher each know the other.
    pub accounts: OnceLock<Arc<Accounts>>,
    /// How far each run is.
    pub progress: ProgressBoard,
    /// What is counted.
    pub figures: Arc<Figures>,
    /// Follows jobs.
    pub observer: Option<Arc<dyn Observer>>,
    /// Spreads the waits between tries.
    pub jitter: Jitter,
    /// Turns true when runs are to be cut off.
    pub cut_off: watch::Receiver<bool>,
    /// Wakes runs then, in the order in which they wait: those of the other wake in any, and a story could not be told twice.
    pub cut_off_now: Arc<Notify>,
}

impl JobContext {
    /// Returns once runs are to be cut off.
    pub async fn is_cut_off(&self) {
        // Made before the look, so that it hears of what comes in between.
        let told = self.cut_off_now.notified();
        if !*self.cut_off.borrow() {
            told.await;
        }
    }
}

/// Run the job now.
#[derive(Message)]
#[rtype(result = "()")]
pub struct RunJob {
    /// Where the run begins.
    pub granted: Granted,
    /// Has a run of it begun before?
    pub resumed: bool,
}

/// One job. It holds no state of its own: the record in the store is what counts, and a restarted actor reads it again.
pub struct JobActor {
    job: JobId,
    account: AccountId,
    context: Arc<JobContext>,
    dispatcher: Addr<Dispatcher>,
}

impl JobActor {
    /// An actor for a job of an account.
    pub fn new(
        job: JobId,
        account: AccountId,
        context: Arc<JobContext>,
        dispatcher: Addr<Dispatcher>,
    ) -> Self {
        Self {
            job,
            account,
            context,
            dispatcher,
        }
    }
}

impl Actor for JobActor {
    type Context = Context<Self>;
}

impl Supervised for JobActor {}

impl Handler<RunJob> for JobActor {
    type Result = ();

    fn handle(&mut self, command: RunJob, ctx: &mut Self::Context) {
        let (job, account, context) = (self.job, self.account, Arc::clone(&self.context));
        let dispatcher = self.dispatcher.clone();
        let life = async move {
            let over = run::run(job, account, &context, command, &dispatcher).await;
            dispatcher.do_send(JobEnded(job));
            // By itself: whatever an object store does to it, it neither holds up a stop nor takes this actor along. What is
            // left behind is found later.
            if let Some(job) = over {
                tokio::task::spawn_local(context.gallery.forget_inputs(&job));
            }
        };
        ctx.spawn(life.into_actor(self));
    }
}
