//! API keys against their accounts, their indexes and what their jobs have cost.

use super::Report;
use crate::domain::amount::Amount;
use crate::domain::ids::{AccountId, KeyId};
use crate::store::{Store, StoreError};
use std::collections::{HashMap, HashSet};

/// Audits all keys. `accounts` are those that exist, `spent` is what the done jobs of each key cost.
pub(super) fn audit(
    store: &Store,
    accounts: &HashSet<AccountId>,
    spent: &HashMap<KeyId, Amount>,
    report: &mut Report,
) -> Result<(), StoreError> {
    store.each_key(|hash, key| {
        let id = key.id;
        let spending = store.key_spending(id)?;
        let (recorded, computed) = (spending.total, spent.get(&id).copied().unwrap_or_default());
        if let Some(fault) = spending.fault() {
            report.fault(format!("key {id} has {fault}"));
        }
        if recorded != computed {
            report.fault(format!(
                "key {id} has spent {recorded} by its record, {computed} by its jobs"
            ));
        }
        // A key that opens and stands in no list can be found by nobody who wants to remove it.
        if !store.is_indexed(&hash, &key)? {
            report.fault(format!("key {id} is not found by its id and its account"));
        }
        for retired in &key.retired {
            if store.key_of_retired(&retired.hash)? != Some(id) {
                report.fault(format!("an earlier text of key {id} is not found"));
            }
        }
        if !accounts.contains(&key.account) {
            report.fault(format!(
                "key {id} is of account {}, which does not exist",
                key.account
            ));
        }
        Ok(())
    })?;
    store.each_key_index(|id, hash| {
        let key = store.key_by_hash(&hash)?;
        if key.is_none_or(|key| key.id != id) {
            report.fault(format!("key {id} is listed, but there is no such key"));
        }
        Ok(())
    })?;
    store.each_retired(|hash, id| {
        let key = store.key(id)?;
        if !key.is_some_and(|(_, key)| key.retired.iter().any(|it| it.hash == hash)) {
            report.fault(format!(
                "a text is known as an earlier one of key {id}, which knows nothing of it"
            ));
        }
        Ok(())
    })
}
