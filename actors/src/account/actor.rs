//! The account actor: decides a batch of commands, commits it, and announces it once it is durable. What arrives during a commit
//! is the next batch.

use super::command::AccountCommand;
use super::context::AccountContext;
use super::decision::{Decision, MAX_BATCH, decide};
use super::inbox::Inbox;
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::pause::Pause;
use tintype_storage::engine::{Commit, EngineError};
use tintype_storage::store::{AccountState, StoreError};

/// Commands in the mailbox of one account; more are refused as overload.
const MAILBOX: usize = 1_024;
/// Commands that wait for a commit to end; further calls are refused as overload.
pub(super) const MAX_WAITING: usize = 4_096;

/// There may be something to decide: in the inbox, or because the commit has ended, well or not.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Wake;

/// Decides for one account.
pub struct AccountActor {
    book: AccountState,
    context: Arc<AccountContext>,
    /// This account's jobs that are not terminal, readable without a message.
    live: Arc<AtomicUsize>,
    waiting: VecDeque<AccountCommand>,
    inbox: Arc<Inbox<AccountCommand>>,
}

impl AccountActor {
    pub(super) fn new(
        book: AccountState,
        context: Arc<AccountContext>,
        live: Arc<AtomicUsize>,
        inbox: Arc<Inbox<AccountCommand>>,
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

    /// Decides and commits what waits, unless a commit is in flight: the next decision builds on its outcome.
    fn work(&mut self, address: &Addr<Self>) {
        while !self.context.fail_stop.has_tripped() {
            if self.inbox.is_committing(!self.waiting.is_empty()) {
                break;
            }
            // The inbox is emptied only where the batch has room for it, so it fills up and refuses when more comes in than
            // can be decided.
            if self.waiting.len() < MAX_BATCH {
                self.waiting.extend(self.inbox.take());
            }
            if self.waiting.is_empty() {
                break;
            }
            // Held until the commit is submitted; see `AccountContext::pause`.
            let context = Arc::clone(&self.context);
            let pause = context.pause.read();
            // A panic may leave the book half changed, and nothing may be built on it.
            match catch_unwind(AssertUnwindSafe(|| self.decide(&pause))) {
                Ok(Ok(decision)) => self.commit(decision, address.clone()),
                Ok(Err(error)) => self.context.fail_stop.trip(error.to_string()),
                Err(_) => self.context.fail_stop.trip("an account actor panicked"),
            }
        }
        if self.context.fail_stop.has_tripped() {
            self.waiting.clear();
            // Until the inbox is empty: the next caller then wakes the actor again, and is refused too.
            while !self.inbox.take().is_empty() {}
        }
    }

    fn decide(&mut self, pause: &Pause) -> Result<Decision, StoreError> {
        let before = self.book.live_jobs();
        let waiting = &mut self.waiting;
        let decision = decide(&mut self.book, &self.context, pause, || waiting.pop_front())?;
        self.count_live(before);
        Ok(decision)
    }

    /// Gives the decision to the engine, which announces it once it is durable.
    fn commit(&self, decision: Decision, address: Addr<Self>) {
        let Decision {
            writes,
            announcement,
        } = decision;
        if writes.is_empty() {
            announcement.announce(&self.context);
            return;
        }
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        inbox.commit_begins();
        let done = Box::new(move |outcome: Result<(), EngineError>| {
            match outcome {
                Ok(()) => announcement.announce(&context),
                Err(error) => {
                    context.fail_stop.trip(error.to_string());
                    announcement.fail(&error.into());
                }
            }
            // After a failure too: what has piled up meanwhile is then refused at once.
            if inbox.commit_ended() {
                address.do_send(Wake);
            }
        });
        self.context.store.engine().submit(Commit { writes, done });
    }

    fn count_live(&self, before: usize) {
        let now = self.book.live_jobs();
        self.live.store(now, Ordering::Relaxed);
        let all = &self.context.live_jobs;
        if now >= before {
            all.fetch_add(now - before, Ordering::Relaxed);
        } else {
            all.fetch_sub(before - now, Ordering::Relaxed);
        }
    }
}

impl Drop for AccountActor {
    fn drop(&mut self) {
        // Closing refuses queued and future commands.
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
        self.work(&ctx.address());
    }
}

impl Handler<AccountCommand> for AccountActor {
    type Result = ();

    fn handle(&mut self, command: AccountCommand, ctx: &mut Self::Context) {
        // A command that is dropped here drops its reply, which tells the caller of the overload.
        if self.waiting.len() < MAX_WAITING || !command.is_refusable() {
            self.waiting.push_back(command);
            self.work(&ctx.address());
        }
    }
}
