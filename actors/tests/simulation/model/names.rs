//! What idempotency keys stand for.

use super::records::Used;
use super::{Changed, Model};
use std::collections::{BTreeMap, BTreeSet};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::IdempotencyRecord;
use uuid::Uuid;

/// One use of a key.
struct Use {
    made: Uuid,
    expires_at: i64,
    /// Its record was removed, after it had expired.
    forgotten: bool,
}

/// All uses, oldest first.
#[derive(Default)]
pub struct Names {
    uses: BTreeMap<(AccountId, u8, String), Vec<Use>>,
    /// Jobs whose callers waited and got no answer: keys no longer stand for them.
    nothing: BTreeSet<Uuid>,
}

impl Names {
    /// Could the key have stood for such a thing at a moment not before `clock_low`?
    pub fn stood_for(
        &self,
        account: AccountId,
        call: u8,
        name: &str,
        clock_low: i64,
        made: impl Fn(Uuid) -> bool,
    ) -> bool {
        let uses = self.uses.get(&(account, call, name.to_owned()));
        uses.is_some_and(|uses| {
            uses.iter()
                .any(|it| it.expires_at > clock_low && made(it.made))
        })
    }

    /// A job came to nothing: its key is free.
    pub fn came_to_nothing(&mut self, job: Uuid) {
        self.nothing.insert(job);
    }

    /// Was the record of a use that ended then removed before?
    fn is_forgotten(&self, key: &(AccountId, u8, String), expires_at: i64) -> bool {
        let uses = self.uses.get(key);
        uses.is_some_and(|uses| {
            uses.iter()
                .any(|it| it.forgotten && it.expires_at == expires_at)
        })
    }

    /// A key is used; complains if it stands for something.
    pub fn used(&mut self, used: &Used, made: Uuid, at: i64) -> Option<String> {
        let key = (used.account, used.call, used.name.clone());
        let uses = self.uses.entry(key).or_default();
        let nothing = &self.nothing;
        let status = |it: &Use| !it.forgotten && it.expires_at > at && !nothing.contains(&it.made);
        // Only the last use counts: it was made because those before it were over, whatever the clock says by now.
        let doubled = uses.last().is_some_and(status);
        uses.push(Use {
            made,
            expires_at: used.expires_at,
            forgotten: false,
        });
        doubled.then(|| format!("the key {} was used twice within its time", used.name))
    }
}

impl Model {
    /// The commit that makes something under a key records that.
    pub(super) fn name_recorded(
        &mut self,
        used: &Used,
        made: Uuid,
        at: i64,
        changed: &mut Changed,
    ) {
        let record = changed.names.remove(used).flatten();
        if record.is_none_or(|it| it.made != made || it.expires_at.millis() != used.expires_at) {
            let name = &used.name;
            self.fault(format!(
                "the key {name} of {made} has no record in its commit"
            ));
        }
        let doubled = self.names.used(used, made, at);
        self.faults.extend(doubled);
    }

    /// What is left of the idempotency records once jobs and deposits have taken theirs: only expired ones that are forgotten.
    pub fn names_step(&mut self, names: BTreeMap<Used, Option<IdempotencyRecord>>) {
        for (used, record) in names {
            let key = (used.account, used.call, used.name.clone());
            // Two who tidy up at the same time remove it twice.
            let is_gone = self.names.is_forgotten(&key, used.expires_at);
            let found = self.names.uses.get_mut(&key).and_then(|uses| {
                let is = |it: &&mut Use| it.expires_at == used.expires_at && !it.forgotten;
                uses.iter_mut().find(is)
            });
            let nothing = &self.names.nothing;
            match (record, found) {
                (None, Some(known))
                    if known.expires_at <= self.clock_high || nothing.contains(&known.made) =>
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
