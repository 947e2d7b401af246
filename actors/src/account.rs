//! The account actor: decides alone for one account, and batches what arrives while its commit is on the way to the disk.

mod commands;

pub use commands::{
    AcceptJob, ApplyEvent, BeginJob, ChangeAccount, ChangeKey, DepositMoney, Reply,
};

use crate::clock::Clock;
use crate::delivery::DeliveriesQueued;
use crate::dispatcher::JobsQueued;
use crate::fail_stop::FailStop;
use crate::figures::{Decided, Figures};
use crate::inbox::Inbox;
use crate::observer::Observer;
use crate::queues::{QueuedJob, Queues};
use crate::watchers::Watchers;
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, Recipient};
use commands::{Answer, Command};
use parking_lot::RwLock;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::ids::{IdSource, JobId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::pause::Pause;
use tintype_storage::engine::{Commit, EngineError};
use tintype_storage::store::{
    AcceptError, Accepted, AccountBook, DepositError, EventError, Limits, Store, StoreError,
};

/// Commands in the mailbox of one account; more are refused as overload.
const MAILBOX: usize = 1_024;
/// Commands that wait for a commit to end; further calls are refused as overload, the ends of runs are not.
pub(crate) const MAX_WAITING: usize = 4_096;
/// Commands that are decided as one commit.
const MAX_BATCH: usize = 256;

/// There is something to decide: in the inbox, or because the commit on its way has ended, well or not.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Wake;

/// What all account actors share.
pub struct AccountContext {
    /// Where records lie.
    pub store: Store,
    /// The moment.
    pub clock: Clock,
    /// New ids.
    pub ids: IdSource,
    /// Bounds of a decision.
    pub limits: Limits,
    /// Which models are paused, in the order of commits: a change is submitted under the lock that a decision holds until its own
    /// commit is submitted. So no job is accepted after a pause that was decided without it.
    pub pause: RwLock<Pause>,
    /// Runs that a job may have.
    pub max_runs: u32,
    /// Jobs of all accounts that are not terminal.
    pub live_jobs: AtomicUsize,
    /// Where new jobs wait for their turn.
    pub queues: Arc<Queues>,
    /// Hears that there are some.
    pub queued: Recipient<JobsQueued>,
    /// Hears of new deliveries.
    pub owed: Recipient<DeliveriesQueued>,
    /// Those who wait for news of a job.
    pub watchers: Arc<Watchers>,
    /// What is counted.
    pub figures: Arc<Figures>,
    /// Follows jobs.
    pub observer: Option<Arc<dyn Observer>>,
    /// Ends the process.
    pub fail_stop: FailStop,
}

/// Decides for one account.
pub struct AccountActor {
    book: AccountBook,
    context: Arc<AccountContext>,
    /// This account's jobs that are not terminal, for whoever asks without a message.
    live: Arc<AtomicUsize>,
    waiting: VecDeque<Command>,
    inbox: Arc<Inbox<AcceptJob>>,
}

impl AccountActor {
    /// An actor for the account of `book`.
    pub fn new(
        book: AccountBook,
        context: Arc<AccountContext>,
        live: Arc<AtomicUsize>,
        inbox: Arc<Inbox<AcceptJob>>,
    ) -> Self {
        live.store(book.live_jobs(), Ordering::Relaxed);
        Self {
            book,
            context,
            live,
            waiting: VecDeque::new(),
            inbox,
        }
    }

    fn take(&mut self, command: Command, ctx: &Context<Self>) {
        // A key that is withdrawn must not wait for the calls that it is to stop.
        let may_be_refused = !matches!(
            command,
            Command::Begin(..) | Command::Apply(..) | Command::ChangeKey(..)
        );
        if may_be_refused && self.waiting.len() >= MAX_WAITING {
            // The dropped reply tells the caller that the account is overloaded.
            return;
        }
        self.waiting.push_back(command);
        self.decide(ctx);
    }

    /// Decides what waits, unless a commit is on the way: its outcome is what the next decision builds on.
    fn decide(&mut self, ctx: &Context<Self>) {
        while !self.context.fail_stop.has_tripped() {
            if self.inbox.is_committing(!self.waiting.is_empty()) {
                break;
            }
            // Only when a batch is not full without it: so the inbox fills up, and refuses, when more comes in than can be decided.
            if self.waiting.len() < MAX_BATCH {
                let laid = self.inbox.take();
                let accept = |it: AcceptJob| Command::Accept(it.job, it.note, it.reply);
                self.waiting.extend(laid.into_iter().map(accept));
            }
            if self.waiting.is_empty() {
                break;
            }
            // A panic in here may leave the book half changed; nothing may be built on it.
            let outcome =
                std::panic::catch_unwind(AssertUnwindSafe(|| self.decide_batch(ctx.address())));
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.context.fail_stop.trip(error.to_string()),
                Err(_) => self.context.fail_stop.trip("an account actor panicked"),
            }
        }
        if self.context.fail_stop.has_tripped() {
            self.waiting.clear();
            // Until it is empty, so that whoever comes next wakes the actor, and is refused as well.
            while !self.inbox.take().is_empty() {}
        }
    }

    fn decide_batch(&mut self, address: Addr<Self>) -> Result<(), StoreError> {
        let context = Arc::clone(&self.context);
        let now = (context.clock)();
        let live_before = self.book.live_jobs();
        // Held until the commit is submitted.
        let shared = Arc::clone(&self.context);
        let pause = shared.pause.read();
        let mut batch = self
            .book
            .batch(&context.store, context.limits)
            .under(&pause);
        let (mut answers, mut begun, mut queued) = (Vec::new(), Vec::new(), Vec::new());
        let mut changed = Vec::new();
        let (mut decided, mut ended) = (Decided::default(), Vec::new());
        let observed = context.observer.is_some();
        for _ in 0..MAX_BATCH {
            if batch.is_full() {
                break;
            }
            let Some(command) = self.waiting.pop_front() else {
                break;
            };
            match command {
                Command::Accept(new, note, reply) => {
                    let (tier, mode) = (new.tier, new.mode);
                    let id = JobId(context.ids.next(now));
                    let outcome = batch.accept(id, *new, now);
                    if let Err(AcceptError::Store(error)) = outcome {
                        return Err(error);
                    }
                    match &outcome {
                        Ok(Accepted { replayed: true, .. }) => decided.replayed(),
                        Ok(_) => {
                            decided.accepted(tier, mode);
                            queued.push(QueuedJob {
                                job: id,
                                account: batch.account().id,
                                tier,
                            });
                            if let Some(note) = note {
                                batch.record(&note(&id));
                            }
                        }
                        Err(_) => {}
                    }
                    answers.push(Answer::Accept(outcome, reply));
                }
                Command::Begin(job, reply) => {
                    let event = JobEvent::Begin {
                        max_runs: context.max_runs,
                    };
                    changed.push(job);
                    let outcome =
                        fatal(batch.apply(job, event, TransactionId(context.ids.next(now)), now))?;
                    if let Ok(job) = &outcome {
                        decided.changed(job, true, now);
                        ended.extend((observed && job.state.is_terminal()).then(|| job.clone()));
                    }
                    begun.push((outcome, reply));
                }
                Command::Apply(job, event, note, reply) => {
                    changed.push(job);
                    let outcome =
                        fatal(batch.apply(job, event, TransactionId(context.ids.next(now)), now))?;
                    if let Ok(job) = &outcome {
                        decided.changed(job, false, now);
                        ended.extend((observed && job.state.is_terminal()).then(|| job.clone()));
                        if let Some(note) = note {
                            batch.record(&note(job));
                        }
                    }
                    answers.push(Answer::Event(outcome.map(Box::new), reply));
                }
                Command::Deposit(deposit, note, reply) => {
                    let id = TransactionId(context.ids.next(now));
                    let outcome = batch.deposit(id, deposit, now);
                    if let Err(DepositError::Store(error)) = outcome {
                        return Err(error);
                    }
                    if let (Ok(entry), Some(note)) = (&outcome, note)
                        && entry.id == id
                    {
                        batch.record(&note(entry));
                    }
                    answers.push(Answer::Deposit(outcome, reply));
                }
                Command::Change(change, note, reply) => {
                    if let (Some(changed), Some(note)) = (batch.change(change), note) {
                        batch.record(&note(&changed));
                    }
                    answers.push(Answer::Change(batch.account().clone(), reply));
                }
                Command::ChangeKey(change) => {
                    batch.change_key(change.key, change.after, change.writes);
                    answers.push(Answer::KeyChanged(change.then, change.reply));
                }
            }
        }
        let owed = batch.deliveries().to_vec();
        let writes = batch.into_writes()?;
        self.count_live(live_before);
        for (outcome, reply) in begun {
            // A run that ends the job here, because it was the last one allowed, is known only once it is on the disk.
            match outcome {
                Ok(job) if job.state.is_terminal() => {
                    answers.push(Answer::Event(Ok(Box::new(job)), reply))
                }
                outcome => drop(reply.send(outcome)),
            }
        }
        if writes.is_empty() {
            context.figures.jobs.add(&decided);
            answers.into_iter().for_each(Answer::send);
            return Ok(());
        }
        let inbox = Arc::clone(&self.inbox);
        inbox.commit_begins();
        let done = Box::new(move |outcome: Result<(), EngineError>| {
            match outcome {
                Ok(()) => {
                    // Queued before it is spoken of, so that whoever asks at once is told the right place.
                    let was_empty = context.queues.push_all(queued);
                    // Counted before it is spoken of as well, so that whoever looks at once finds it.
                    context.figures.jobs.add(&decided);
                    // Spoken from the engine's thread: every further hop would add to the time that the caller waits.
                    answers.into_iter().for_each(Answer::send);
                    if let Some(observer) = &context.observer {
                        ended.iter().for_each(|job| observer.job_ended(job));
                    }
                    for job in changed {
                        context.watchers.changed(job);
                    }
                    if was_empty && context.queues.is_hint_due() {
                        context.queued.do_send(JobsQueued);
                    }
                    if !owed.is_empty() {
                        context.owed.do_send(DeliveriesQueued(owed));
                    }
                }
                Err(error) => {
                    context.fail_stop.trip(error.to_string());
                    answers
                        .into_iter()
                        .for_each(|answer| answer.send_failure(error.clone().into()));
                }
            }
            // After a failure too: what has piled up meanwhile is then refused at once.
            if inbox.commit_ended() {
                address.do_send(Wake);
            }
        });
        self.context.store.engine().submit(Commit { writes, done });
        Ok(())
    }

    fn count_live(&self, before: usize) {
        let now = self.book.live_jobs();
        self.live.store(now, Ordering::Relaxed);
        if now >= before {
            self.context
                .live_jobs
                .fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.context
                .live_jobs
                .fetch_sub(before - now, Ordering::Relaxed);
        }
    }
}

/// Separates what ends the process from what is an answer.
fn fatal(outcome: Result<Job, EventError>) -> Result<Result<Job, EventError>, StoreError> {
    match outcome {
        Err(EventError::Store(error)) => Err(error),
        other => Ok(other),
    }
}

impl Drop for AccountActor {
    fn drop(&mut self) {
        // Nobody looks into it any more: what lies there, and what would still come, is refused.
        self.inbox.close();
    }
}

impl Actor for AccountActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Handler<Wake> for AccountActor {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.decide(ctx);
    }
}

impl Handler<BeginJob> for AccountActor {
    type Result = ();

    fn handle(&mut self, command: BeginJob, ctx: &mut Self::Context) {
        self.take(Command::Begin(command.job, command.reply), ctx);
    }
}

impl Handler<ApplyEvent> for AccountActor {
    type Result = ();

    fn handle(&mut self, command: ApplyEvent, ctx: &mut Self::Context) {
        self.take(
            Command::Apply(command.job, command.event, command.note, command.reply),
            ctx,
        );
    }
}

impl Handler<DepositMoney> for AccountActor {
    type Result = ();

    fn handle(&mut self, command: DepositMoney, ctx: &mut Self::Context) {
        self.take(
            Command::Deposit(command.deposit, command.note, command.reply),
            ctx,
        );
    }
}

impl Handler<ChangeAccount> for AccountActor {
    type Result = ();

    fn handle(&mut self, command: ChangeAccount, ctx: &mut Self::Context) {
        self.take(
            Command::Change(command.change, command.note, command.reply),
            ctx,
        );
    }
}

impl Handler<ChangeKey> for AccountActor {
    type Result = ();

    fn handle(&mut self, command: ChangeKey, ctx: &mut Self::Context) {
        self.take(Command::ChangeKey(Box::new(command)), ctx);
    }
}
