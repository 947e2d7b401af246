//! One round of an account: decides a batch of commands, and announces the decisions once they are durable.

use super::announcements::Announcements;
use super::command::AccountCommand;
use super::command_decider::CommandDecider;
use super::context::AccountContext;
use super::shared_state::AccountSharedState;
use actix::{Message, Recipient};
use std::sync::Arc;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::pause::Pause;
use tintype_storage::engine::{EngineError, Key, ReadRequest, ReadResults, Round, RoundStep};
use tintype_storage::store::{
    AccountState, Decisions, RoundOutcome, RoundReads, StateChange, StoreError, Writes,
};

/// The inbox may have commands, or a round has ended or failed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Wake;

/// A round of commands of one account.
pub struct AccountRound {
    pub shared: Arc<AccountSharedState>,
    pub wake: Recipient<Wake>,
    /// The paused models at the start of the round.
    pub pause: Pause,
    pub commands: Vec<AccountCommand>,
    /// The result of the last call of `decide`.
    pub decided: DecidedRound,
}

#[derive(Default)]
pub struct DecidedRound {
    /// The number of decided commands, from the first one on. The others go to the next round.
    commands: usize,
    change: Option<StateChange>,
    error: Option<StoreError>,
    /// The account as the round read it, if several nodes share the store.
    read: Option<AccountState>,
    announcements: Announcements,
}

impl Round for AccountRound {
    fn locked_keys(&self) -> Vec<Key> {
        vec![AccountState::lock_of(self.shared.id)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let mut needs = needs(&self.shared.state.lock(), &self.commands);
        if self.shared.context.process.node.is_some() {
            needs.extend(AccountState::shared_state_reads(self.shared.id));
        }
        needs
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        self.decided = DecidedRound::default();
        let reads = RoundReads::new(reads);
        let writes = match self.shared.context.process.node.clone() {
            None => self.decide_on_memory(&reads),
            Some(node) => self.decide_on_store(node.id, &reads),
        };
        if reads.has_unread() {
            return RoundStep::Read(reads.take_unread());
        }
        RoundStep::Write(writes.unwrap_or_else(|error| {
            self.decided.error = Some(error);
            Writes::new()
        }))
    }

    /// Runs on the engine's thread, because another thread would add to the callers' latency.
    fn done(mut self: Box<Self>, outcome: Result<(), EngineError>) {
        let context = &self.shared.context;
        let undecided = self.commands.split_off(self.decided.commands);
        let DecidedRound {
            change,
            error,
            read,
            announcements,
            ..
        } = self.decided;
        match (outcome, error) {
            (Ok(()), None) => {
                match (change, read) {
                    (Some(change), None) => self.shared.apply(change),
                    (Some(change), Some(read)) => self.shared.apply_to(read, change),
                    (None, _) => {}
                }
                announcements.publish(self.commands, context);
            }
            (Ok(()), Some(error)) => context.process.fail_stop.trip(error.to_string()),
            (Err(error), _) => {
                let error = StoreError::from(error);
                self.commands
                    .into_iter()
                    .for_each(|it| it.reply(Err(&error)));
            }
        }
        // Also after a failure, so that commands that arrived meanwhile are refused at once.
        if self.shared.inbox.end_commit(undecided) {
            self.wake.do_send(Wake);
        }
    }
}

impl AccountRound {
    /// Decides on the state in memory: only this process changes the account.
    fn decide_on_memory(&mut self, reads: &RoundReads<'_>) -> Result<Writes, StoreError> {
        let context = &self.shared.context;
        let state = self.shared.state.lock();
        let decisions = state.decisions(reads, context.limits).under(&self.pause);
        decide(
            &mut self.decided,
            &mut self.commands,
            decisions,
            reads,
            context,
        )
    }

    /// Decides on the state in the store, which other nodes change too.
    fn decide_on_store(
        &mut self,
        node: NodeId,
        reads: &RoundReads<'_>,
    ) -> Result<Writes, StoreError> {
        let context = &self.shared.context;
        let read = AccountState::of_shared(node, self.shared.id, reads)?;
        if let Some(newest) = read.state.newest_of_others() {
            context.process.ids.raise(newest);
        }
        let decisions = read.state.decisions(reads, context.limits);
        let decisions = decisions.under(&read.pause);
        let writes = decide(
            &mut self.decided,
            &mut self.commands,
            decisions,
            reads,
            context,
        )?;
        self.decided.read = Some(read.state);
        Ok(writes)
    }
}

/// The records that every decision about these commands reads.
fn needs(state: &AccountState, commands: &[AccountCommand]) -> Vec<ReadRequest> {
    let mut needs = Vec::new();
    for command in commands {
        match command {
            AccountCommand::Accept { job, .. } => state.add_reads_to_accept(job, &mut needs),
            AccountCommand::AcceptBatch { batch, .. } => {
                state.add_reads_to_accept_batch(batch, &mut needs);
            }
            AccountCommand::CancelBatch { batch, .. } => {
                state.add_reads_to_cancel_batch(*batch, &mut needs);
            }
            AccountCommand::Begin { job, .. } => {
                let event = JobEvent::Begin { max_runs: 0 };
                state.add_reads_to_apply(*job, &event, &mut needs);
            }
            AccountCommand::Apply { job, event, .. } => {
                state.add_reads_to_apply(*job, event, &mut needs);
            }
            AccountCommand::Expire { job, .. } => {
                state.add_reads_to_apply(*job, &JobEvent::Expire, &mut needs);
            }
            AccountCommand::Deposit { deposit, .. } => {
                state.add_reads_to_deposit(deposit, &mut needs)
            }
            AccountCommand::Change { .. } | AccountCommand::ChangeKey(_) => {}
        }
    }
    needs
}

/// Decides commands until the round is full. An error is a store error and ends the process.
fn decide(
    decided: &mut DecidedRound,
    commands: &mut [AccountCommand],
    decisions: Decisions<'_>,
    reads: &RoundReads<'_>,
    context: &AccountContext,
) -> Result<Writes, StoreError> {
    let now = context.process.now();
    let mut decider = CommandDecider {
        decisions,
        announcements: &mut decided.announcements,
        context,
        now,
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
        decided.commands += 1;
    }
    if reads.has_unread() {
        return Err(StoreError::NotRead);
    }
    let CommandDecider { mut decisions, .. } = decider;
    if let Some(operator) = &context.process.operator {
        decisions.report_low_balance(operator, || DeliveryId(context.process.ids.next(now)), now);
    }
    let RoundOutcome {
        mut writes,
        deliveries,
        left_queue,
        change,
    } = decisions.finish()?;
    if let Some(queue) = &context.shared_queue {
        decided.announcements.queue_changes =
            queue.remove_ended(&left_queue, reads, &mut writes)?;
    }
    decided.announcements.deliveries = deliveries;
    decided.change = Some(change);
    Ok(writes)
}
