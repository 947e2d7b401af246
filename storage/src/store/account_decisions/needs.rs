//! What the decision about a command surely needs to know. [`Decisions::unread`](super::Decisions::unread) asks for what it turns out to need
//! beside.

use super::AccountState;
use crate::domain::ids::JobId;
use crate::domain::job::JobEvent;
use crate::engine::{Ask, Key};
use crate::store::IdempotentCall;
use crate::store::commands::{Deposit, IdempotencyUse, NewJob};
use crate::store::idempotency::last_use_of;
use crate::store::tables::{ACCOUNTS, API_KEYS_BY_ID, LIVE_JOBS};
use crate::store::webhooks::webhooks_of;

impl AccountState {
    /// The key that a round about the account holds.
    pub fn hold(&self) -> Key {
        ACCOUNTS.key(&self.account.id)
    }

    /// For [`Decisions::accept`](super::Decisions::accept).
    pub fn needs_to_accept(&self, new: &NewJob, needs: &mut Vec<Ask>) {
        if self.keys.get(&new.key).is_none_or(|it| it.terms.is_none()) {
            needs.push(Ask::Get(API_KEYS_BY_ID.key(&new.key)));
        }
        self.needs_of_use(IdempotentCall::Generation, new.idempotency.as_ref(), needs);
    }

    /// For [`Decisions::apply`](super::Decisions::apply).
    pub fn needs_to_apply(&self, job: JobId, event: &JobEvent, needs: &mut Vec<Ask>) {
        needs.push(Ask::Get(LIVE_JOBS.key(&(self.account.id, job))));
        match event {
            JobEvent::Finish { .. } | JobEvent::Fail { .. } | JobEvent::Cancel => {
                needs.push(webhooks_of(self.account.id));
            }
            JobEvent::Begin { .. } | JobEvent::CutOff => {}
        }
    }

    /// For [`Decisions::deposit`](super::Decisions::deposit).
    pub fn needs_to_deposit(&self, deposit: &Deposit, needs: &mut Vec<Ask>) {
        self.needs_of_use(IdempotentCall::Deposit, deposit.idempotency.as_ref(), needs);
    }

    fn needs_of_use(
        &self,
        call: IdempotentCall,
        used: Option<&IdempotencyUse>,
        needs: &mut Vec<Ask>,
    ) {
        needs.extend(used.map(|used| last_use_of(call, self.account.id, &used.name)));
    }
}
