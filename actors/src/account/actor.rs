//! The account actor: takes the commands in its inbox and starts a round for them. Commands that arrive meanwhile form the next round.

use super::round::{AccountRound, Wake};
use super::shared_state::AccountSharedState;
use crate::process_context::ProcessContext;
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::sync::Arc;
use std::time::Duration;

/// Commands per commit.
const MAX_COMMANDS: usize = 256;
/// A joining node checks this often whether it may decide.
const JOIN_POLL: Duration = Duration::from_millis(20);

pub struct AccountActor {
    shared: Arc<AccountSharedState>,
}

impl AccountActor {
    pub(super) fn new(shared: Arc<AccountSharedState>) -> Self {
        Self { shared }
    }

    /// Starts a round for the waiting commands, unless one is in flight: the next decision builds on its outcome.
    fn start_round(&self, address: &Addr<Self>) {
        let AccountSharedState { context, inbox, .. } = &*self.shared;
        while !context.process.fail_stop.has_tripped() {
            let commands = inbox.take(MAX_COMMANDS);
            if commands.is_empty() {
                return;
            }
            // Held until the commit is submitted; see `AccountContext::submitted_pause`.
            let pause = context.submitted_pause.read();
            let round = AccountRound {
                shared: Arc::clone(&self.shared),
                wake: address.clone().recipient(),
                pause: pause.clone(),
                commands,
                decided: 0,
            };
            context.process.store.decide(round, AccountRound::end);
        }
        // Dropping a command fails its caller. The next caller wakes the actor again, and is refused too.
        while !inbox.take(usize::MAX).is_empty() {
            inbox.end_commit(Vec::new());
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
        let ProcessContext {
            node, fail_stop, ..
        } = &*self.shared.context.process;
        let is_joining = node.as_ref().is_some_and(|it| !it.has_adopted());
        if is_joining && !fail_stop.has_tripped() {
            ctx.notify_later(Wake, JOIN_POLL);
            return;
        }
        self.start_round(&ctx.address());
    }
}
