//! Idempotency keys.

use super::records::KeyUse;
use super::{ChangedRecords, Model};
use std::collections::{BTreeMap, BTreeSet};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{IdempotencyRecord, Made};
use uuid::Uuid;

struct Use {
    made: Uuid,
    expires_at: i64,
    /// Was its record deleted after its expiry?
    forgotten: bool,
}

#[derive(Default)]
pub struct Names {
    /// Oldest first.
    uses: BTreeMap<(AccountId, u8, String), Vec<Use>>,
    /// Jobs whose waiting callers got no image, and deleted jobs and batches. Their keys are free again.
    released: BTreeSet<Uuid>,
}

impl Names {
    /// Could the key have been in use for a matching job or batch at `clock_low` or later?
    pub fn stood_for(
        &self,
        account: AccountId,
        name: &str,
        clock_low: i64,
        made: impl Fn(Uuid) -> bool,
    ) -> bool {
        let uses = self.uses.get(&(account, b's', name.to_owned()));
        let mut uses = uses.into_iter().flatten();
        uses.any(|it| it.expires_at > clock_low && made(it.made))
    }

    /// Frees the key of a job that ended without an image, or of a deleted job or batch.
    pub fn release(&mut self, made: Uuid) {
        self.released.insert(made);
    }

    /// Was the record of a use with this expiry deleted before?
    fn is_forgotten(&self, key: &(AccountId, u8, String), expires_at: i64) -> bool {
        let uses = self.uses.get(key);
        uses.is_some_and(|uses| {
            uses.iter()
                .any(|it| it.forgotten && it.expires_at == expires_at)
        })
    }

    /// Records a use. Returns a fault if the key is in use already.
    pub fn used(&mut self, used: &KeyUse, made: Uuid, at: i64) -> Option<String> {
        let key = (used.account, used.call, used.name.clone());
        let uses = self.uses.entry(key).or_default();
        let released = &self.released;
        let is_valid =
            |it: &Use| !it.forgotten && it.expires_at > at && !released.contains(&it.made);
        // Only the last use counts. It shows that the uses before it had expired, even if the clock was set back since.
        let doubled = uses.last().is_some_and(is_valid);
        uses.push(Use {
            made,
            expires_at: used.expires_at,
            forgotten: false,
        });
        doubled.then(|| format!("the key {} was used twice within its time", used.name))
    }
}

impl Model {
    /// Checks that a commit records the idempotency key of the job or batch that it accepts.
    pub(super) fn name_recorded(
        &mut self,
        used: &KeyUse,
        made: Made,
        at: i64,
        changed: &mut ChangedRecords,
    ) {
        let record = changed.names.remove(used).flatten();
        if record.is_none_or(|it| it.made != made || it.expires_at.millis() != used.expires_at) {
            let name = &used.name;
            self.fault(format!(
                "the key {name} of {made:?} has no record in its commit"
            ));
        }
        let doubled = self.names.used(used, made.id(), at);
        self.faults.extend(doubled);
    }

    /// Checks the other changes of idempotency records: only expired ones may be deleted.
    pub fn names_step(&mut self, names: BTreeMap<KeyUse, Option<IdempotencyRecord>>) {
        for (used, record) in names {
            let key = (used.account, used.call, used.name.clone());
            // Two concurrent maintenance runs delete a record twice.
            let is_gone = self.names.is_forgotten(&key, used.expires_at);
            let found = self.names.uses.get_mut(&key).and_then(|uses| {
                let is = |it: &&mut Use| it.expires_at == used.expires_at && !it.forgotten;
                uses.iter_mut().find(is)
            });
            let released = &self.names.released;
            match (record, found) {
                (None, Some(known))
                    if known.expires_at <= self.clock_high || released.contains(&known.made) =>
                {
                    known.forgotten = true;
                    self.count("names forgotten");
                }
                (None, None) if is_gone => {}
                (record, _) => self.fault(format!(
                    "the record of key {} was changed to {record:?}",
                    used.name
                )),
            }
        }
    }
}
