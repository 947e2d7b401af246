//! The account actor: takes what waits in its inbox and begins a round about it. What arrives during the round is the next round.

use super::context::AccountContext;
use super::round::{AccountRound, Decision, Wake};
use super::shared::AccountShared;
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::sync::Arc;
use std::time::Duration;

/// Commands that are decided as one commit.
const MAX_COMMANDS: usize = 256;
/// How often a node that joins looks whether it may decide.
const LOOK: Duration = Duration::from_millis(20);

pub struct AccountActor {
    shared: Arc<AccountShared>,
}

impl AccountActor {
    pub(super) fn new(shared: Arc<AccountShared>) -> Self {
        Self { shared }
    }

    /// Decides what waits, unless a round is in flight: the next decision builds on its outcome.
    fn work(&self, address: &Addr<Self>) {
        let AccountShared { context, inbox, .. } = &*self.shared;
        while !context.fail_stop.has_tripped() {
            let commands = inbox.take(MAX_COMMANDS);
            if commands.is_empty() {
                return;
            }
            // Held until the commit is submitted; see `AccountContext::pause`.
            let pause = context.pause.read();
            let round = AccountRound {
                shared: Arc::clone(&self.shared),
                wake: address.clone().recipient(),
                pause: pause.clone(),
                commands,
                decision: Decision::default(),
                read: None,
            };
            context.store.decide(Box::new(round));
        }
        // Dropped commands tell their callers. The next caller wakes the actor again, and is refused too.
        while !inbox.take(usize::MAX).is_empty() {
            inbox.commit_ended(Vec::new());
        }
    }
}

impl Drop for AccountActor {
    fn drop(&mut self) {
        // Closing refuses queued and future commands.
        self.shared.inbox.close();
    }
}

impl Actor for AccountActor {
    type Context = Context<Self>;
}

impl Handler<Wake> for AccountActor {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        let AccountContext {
            node, fail_stop, ..
        } = &*self.shared.context;
        let is_early = node.as_ref().is_some_and(|it| !it.has_adopted());
        if is_early && !fail_stop.has_tripped() {
            ctx.notify_later(Wake, LOOK);
            return;
        }
        self.work(&ctx.address());
    }
}
