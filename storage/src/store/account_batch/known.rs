//! What a batch decides on: the records that were read for it. It reads nothing else.

use super::{AccountState, Batch};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::JobEvent;
use crate::engine::{Ask, Key, Seen, Value};
use crate::store::commands::{Deposit, IdempotencyUse, NewJob};
use crate::store::idempotency::last_use_of;
use crate::store::tables::{ACCOUNTS, API_KEYS_BY_ID, LIVE_JOBS};
use crate::store::webhooks::webhooks_of;
use crate::store::{IdempotentCall, Record, StoreError, Table, TableKey};
use std::borrow::Cow;

/// The records that were read for a decision.
pub trait Known {
    /// The value of a key; `None` where it was not asked for.
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>>;

    /// The pairs of a scan; `None` where it was not asked for.
    fn pairs(&self, scan: &Ask) -> Option<Result<Cow<'_, [(Key, Value)]>, StoreError>>;
}

impl Known for Seen {
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>> {
        Some(Ok(self.value(key)?.map(|it| Cow::Borrowed(it.as_slice()))))
    }

    fn pairs(&self, scan: &Ask) -> Option<Result<Cow<'_, [(Key, Value)]>, StoreError>> {
        Some(Ok(Cow::Borrowed(self.pairs(scan)?)))
    }
}

/// What the decision about a command surely needs to know. What it turns out to need beside is asked for by
/// [`Batch::unread`].
impl AccountState {
    /// The key that a round about the account holds.
    pub fn hold(&self) -> Key {
        ACCOUNTS.key(&self.account.id)
    }

    /// See [`Batch::accept`].
    pub fn needs_to_accept(&self, new: &NewJob, needs: &mut Vec<Ask>) {
        if self.keys.get(&new.key).is_none_or(|it| it.terms.is_none()) {
            needs.push(Ask::Get(API_KEYS_BY_ID.key(&new.key)));
        }
        self.needs_of_use(IdempotentCall::Generation, new.idempotency.as_ref(), needs);
    }

    /// See [`Batch::apply`].
    pub fn needs_to_apply(&self, job: JobId, event: &JobEvent, needs: &mut Vec<Ask>) {
        needs.push(Ask::Get(LIVE_JOBS.key(&(self.account.id, job))));
        match event {
            JobEvent::Finish { .. } | JobEvent::Fail { .. } | JobEvent::Cancel => {
                needs.push(webhooks_of(self.account.id));
            }
            JobEvent::Begin { .. } | JobEvent::CutOff => {}
        }
    }

    /// See [`Batch::deposit`].
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

impl Batch<'_> {
    /// What the decisions of this batch need beside what they were given. Where there is anything, they are to be made again.
    pub fn unread(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.unread)
    }

    /// The record under a key, as it was read.
    pub(super) fn read<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        key: &K,
    ) -> Result<Option<R>, StoreError> {
        let key = table.key(key);
        match self.known.value(&key) {
            Some(value) => value?.map(|value| table.decode(&value)).transpose(),
            None => {
                self.unread.push(Ask::Get(key));
                Err(StoreError::Unread)
            }
        }
    }

    /// The records of a scan, as they were read.
    pub(super) fn scan<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: Ask,
    ) -> Result<Vec<R>, StoreError> {
        match self.known.pairs(&scan) {
            Some(pairs) => pairs?
                .iter()
                .map(|(_, value)| table.decode(value))
                .collect(),
            None => {
                self.unread.push(scan);
                Err(StoreError::Unread)
            }
        }
    }

    pub(super) fn account_id(&self) -> AccountId {
        self.account.id
    }
}
