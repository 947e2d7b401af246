//! What a batch knows of the keys that ask for jobs. A key is changed only by a decision of its account, so what was read once
//! holds until such a decision replaces it.

use super::Batch;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::caller::{CallerRefusal, is_stricter, judge};
use crate::domain::ids::KeyId;
use crate::domain::spending::SpendLimits;
use crate::domain::time::Timestamp;
use crate::store::commands::{AcceptError, NewJob};
use crate::store::{StoreError, Writes};

/// What is known of a key.
#[derive(Clone, Debug, Default)]
pub(super) enum Known {
    #[default]
    Unread,
    /// The key with the hash of its text.
    Is(Box<(KeyHash, ApiKey)>),
    Removed,
}

impl Batch<'_> {
    /// Judges the key of a job as it is now, and returns the limits of what it may spend.
    pub(super) fn judge_key(
        &mut self,
        new: &NewJob,
        now: Timestamp,
    ) -> Result<SpendLimits, AcceptError> {
        let is_active = self.book.account.active;
        let (hash, key) = self.terms(new.key)?.ok_or(CallerRefusal::Unknown)?;
        judge(hash, key, new.shown.as_ref(), new.tier, is_active, now)?;
        Ok(key.spend_limits())
    }

    /// A call was counted against the rate limit that its key had when it came. A stricter one since then refuses it.
    pub(super) fn judge_rate(&mut self, new: &NewJob) -> Result<(), AcceptError> {
        let Some(shown) = &new.shown else {
            return Ok(());
        };
        let now = self.terms(new.key)?.and_then(|(_, key)| key.rate_limit);
        if is_stricter(now, shown.rate_limit) {
            return Err(AcceptError::RateLowered);
        }
        Ok(())
    }

    /// Changes a key: `after` is the key as it will be with the hash of its text, `None` for one that is removed; `writes` make it so.
    pub fn change_key(&mut self, id: KeyId, after: Option<(KeyHash, ApiKey)>, writes: Writes) {
        self.book.keys.entry(id).or_default().terms = match after {
            Some(after) => Known::Is(Box::new(after)),
            None => Known::Removed,
        };
        writes.into_iter().for_each(|write| self.put(write));
    }

    fn terms(&mut self, id: KeyId) -> Result<Option<&(KeyHash, ApiKey)>, StoreError> {
        let terms = &mut self.book.keys.entry(id).or_default().terms;
        if matches!(terms, Known::Unread) {
            let account = self.book.account.id;
            let read = self
                .store
                .key(id)?
                .filter(|(_, key)| key.account == account);
            if let Some(read) = read {
                *terms = Known::Is(Box::new(read));
            }
        }
        Ok(match terms {
            Known::Is(known) => Some(known),
            Known::Unread | Known::Removed => None,
        })
    }
}
