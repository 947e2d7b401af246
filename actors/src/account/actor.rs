//! The account actor: starts a round for the commands in its inbox. Commands that arrive meanwhile form the next round.

use super::round::{AccountRound, Wake};
use super::shared_state::AccountSharedState;
use actix::{Actor, AsyncContext, Context, Handler};
use std::sync::Arc;
use std::time::Duration;

/// A joining node checks this often whether it may decide.
const JOIN_POLL: Duration = Duration::from_millis(20);

pub struct AccountActor {
    shared: Arc<AccountSharedState>,
}

impl AccountActor {
    pub(super) fn new(shared: Arc<AccountSharedState>) -> Self {
        Self { shared }
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
        if self.shared.is_joining() && !self.shared.context.process.fail_stop.has_tripped() {
            ctx.notify_later(Wake, JOIN_POLL);
            return;
        }
        let wake = Arc::new(ctx.address().recipient());
        // A round without a commit has ended already.
        while AccountRound::start(&self.shared, &wake) {}
    }
}
