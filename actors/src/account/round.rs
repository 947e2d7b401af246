//! One round of an account: decides a batch of commands, and announces the decisions once they are durable.

use super::announcements::Announcements;
use super::command::AccountCommand;
use super::command_decider::CommandDecider;
use super::shared_state::{AccountSharedState, StateSource};
use actix::{Message, Recipient};
use std::sync::Arc;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::pause::Pause;
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::{
    AccountState, Decision, InitialReads, RoundOutcome, RoundReads, StateChange, StoreError, Writes,
};

/// Commands per commit.
const MAX_COMMANDS: usize = 256;

/// The inbox may have commands, or a round has ended or failed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Wake;

/// A round of commands of one account.
pub struct AccountRound {
    pub shared: Arc<AccountSharedState>,
    pub wake: Arc<Recipient<Wake>>,
    /// The paused models at the start of the round.
    pub pause: Pause,
    pub commands: Vec<AccountCommand>,
    /// The number of commands that the last call of `decide` decided, from the first one on. The others go to the next round.
    pub decided: usize,
}

pub struct DecidedRound {
    change: StateChange,
    announcements: Announcements,
}

impl Decision for AccountRound {
    type Outcome = DecidedRound;

    fn locked_keys(&self) -> Vec<Key> {
        vec![AccountState::lock_of(self.shared.id)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let state = self.shared.memory().map(|it| it.state.lock());
        let mut reads = InitialReads::new(self.shared.id, state.as_deref());
        self.commands.iter().for_each(|it| add(&mut reads, it));
        reads.into_requests()
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, DecidedRound), StoreError> {
        let Self {
            shared,
            pause,
            commands,
            decided,
            ..
        } = self;
        *decided = 0;
        let context = &*shared.context;
        let (memory, read);
        let (state, pause) = match &shared.source {
            StateSource::Memory(it) => {
                memory = it.state.lock();
                (&*memory, &*pause)
            }
            StateSource::Store(node) => {
                read = AccountState::of_shared(*node, shared.id, reads)?;
                if let Some(newest) = read.state.newest_of_others() {
                    context.process.ids.raise(newest);
                }
                (&read.state, &read.pause)
            }
        };
        let mut decider = CommandDecider {
            decisions: state.decisions(reads, context.limits).under(pause),
            announcements: Announcements::default(),
            context,
            now: context.process.now(),
        };
        for command in commands {
            if decider.decisions.is_full() {
                break;
            }
            if !command.refuse_if_abandoned() {
                let outcome = decider.decide(command);
                // The loop goes on with the other commands, so that one read gets all unread records.
                if !reads.has_unread() {
                    outcome?;
                }
            }
            *decided += 1;
        }
        match reads.has_unread() {
            true => Err(StoreError::NotRead),
            false => DecidedRound::of(decider, reads),
        }
    }
}

impl DecidedRound {
    fn of(
        decider: CommandDecider<'_>,
        reads: &RoundReads<'_>,
    ) -> Result<(Writes, Self), StoreError> {
        let CommandDecider {
            mut decisions,
            mut announcements,
            context,
            now,
        } = decider;
        let process = &context.process;
        if let Some(operator) = &process.operator {
            decisions.report_low_balance(operator, || DeliveryId(process.ids.next(now)), now);
        }
        let RoundOutcome {
            mut writes,
            deliveries,
            left_queue,
            change,
        } = decisions.finish()?;
        let queue = &context.queue;
        announcements.queue_changes = queue.remove_ended(&left_queue, reads, &mut writes)?;
        announcements.left_queue = left_queue;
        announcements.deliveries = deliveries;
        let decided = Self {
            change,
            announcements,
        };
        Ok((writes, decided))
    }
}

impl AccountRound {
    /// Starts a round for the waiting commands, unless one is in flight: the next decision builds on its outcome. Returns whether it
    /// has started one. Runs on the actor's thread or on that of a caller. `wake` wakes the actor.
    pub fn start(shared: &Arc<AccountSharedState>, wake: &Arc<Recipient<Wake>>) -> bool {
        let AccountSharedState { context, inbox, .. } = &**shared;
        let _stops = context.process.fail_stop.at_panic("a decision panicked");
        if context.process.fail_stop.has_tripped() {
            // Dropping a command fails its caller. The next caller starts this again, and is refused too.
            while !inbox.take(usize::MAX).is_empty() {
                inbox.end_commit(Vec::new());
            }
            return false;
        }
        let commands = inbox.take(MAX_COMMANDS);
        if commands.is_empty() {
            return false;
        }
        // Held until the commit is submitted; see `AccountContext::submitted_pause`.
        let pause = context.submitted_pause.read();
        let round = Self {
            shared: Arc::clone(shared),
            wake: Arc::clone(wake),
            pause: pause.clone(),
            commands,
            decided: 0,
        };
        context.process.store.decide(round, Self::end);
        true
    }

    /// Runs on the engine's thread, because another thread would add to the callers' latency.
    pub fn end(mut self, outcome: Result<DecidedRound, StoreError>) {
        let context = &self.shared.context;
        let undecided = self.commands.split_off(self.decided);
        match outcome {
            Ok(decided) => {
                if let Some(memory) = self.shared.memory() {
                    memory.apply(decided.change, context);
                }
                decided.announcements.publish(self.commands, &self.shared);
            }
            Err(error @ StoreError::Engine(_)) => {
                let refuse = |it: AccountCommand| it.reply(Err(&error));
                self.commands.into_iter().for_each(refuse);
            }
            Err(error) => context.process.fail_stop.trip(error.to_string()),
        }
        // Also after a failure, so that commands that arrived meanwhile are refused at once.
        if self.shared.inbox.end_commit(undecided) {
            self.wake.do_send(Wake);
        }
    }
}

/// Adds the records that every decision about this command reads.
fn add(reads: &mut InitialReads<'_>, command: &AccountCommand) {
    match command {
        AccountCommand::Accept { job, .. } => reads.add_for_accept(job),
        AccountCommand::AcceptBatch { batch, .. } => reads.add_for_accept_batch(batch),
        AccountCommand::CancelBatch { batch, .. } => reads.add_for_cancel_batch(*batch),
        AccountCommand::Apply { job, event, .. } => reads.add_for_apply(*job, event),
        AccountCommand::Deposit { deposit, .. } => reads.add_for_deposit(deposit),
        AccountCommand::Refund { refund, .. } => reads.add_for_refund(refund),
        AccountCommand::Change { .. }
        | AccountCommand::ChangeKey(_)
        | AccountCommand::Barrier { .. } => {}
    }
}
