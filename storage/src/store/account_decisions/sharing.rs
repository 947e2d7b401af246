//! Decisions of a node that shares the store. A single process caches an account's state in memory; a node reads it for each
//! round and writes it back.

use super::state::{KeyState, Sharing};
use super::{AccountState, Decisions};
use crate::domain::ids::{AccountId, JobId, NodeId, moment_of};
use crate::domain::job::{Job, Origin};
use crate::domain::node::{AccountLoad, KeyLoad, WaitingCaller};
use crate::domain::pause::Pause;
use crate::domain::queue_entry::{QueueClass, QueueEntry, Turns};
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key, KeyRange, ReadRequest};
use crate::store::tables::{
    ACCOUNT_LOADS, ACCOUNTS, ENDED_JOBS, LEDGER, LIVE_JOBS, PAUSE, QUEUE, SERVED_TURNS, TAKEN_JOBS,
    WAITING_CALLERS,
};
use crate::store::{Gather as _, RoundReads, StoreError};
use uuid::Uuid;

/// The shared records on which a round decides.
pub struct SharedState {
    pub state: AccountState,
    pub pause: Pause,
}

impl AccountState {
    /// The key that a round about an account locks.
    pub fn lock_of(account: AccountId) -> Key {
        ACCOUNTS.key(&account)
    }

    /// The reads of every round about an account.
    pub fn shared_state_reads(account: AccountId) -> [ReadRequest; 3] {
        [
            ACCOUNTS.request(&account),
            ACCOUNT_LOADS.request(&account),
            PAUSE.request(&()),
        ]
    }

    /// Builds an account's state from the records read for a round.
    ///
    /// # Errors
    /// A record is corrupt, missing or not read.
    pub fn of_shared(
        node: NodeId,
        account: AccountId,
        reads: &RoundReads<'_>,
    ) -> Result<SharedState, StoreError> {
        let record = reads.get(&ACCOUNTS, &account)?;
        let record = record.ok_or_else(|| StoreError::Inconsistent {
            account,
            fault: "its record is missing".into(),
        })?;
        let pause = reads.get(&PAUSE, &())?;
        let load = reads.get(&ACCOUNT_LOADS, &account)?.unwrap_or_default();
        let newest = match load.newest {
            Some(newest) => Some(newest),
            // No node has created an id of this account.
            None => newest_id(account, reads)?,
        };
        let mut state = Self {
            live_jobs: number(load.live_jobs),
            sharing: Some(Sharing {
                node,
                turns: load.turns,
                // The operator finds a job by its id only if the id is newer than that of its account.
                newest: newest.max(moment_of(&account.0)),
                decided_by: load.decided_by,
            }),
            ..Self::without_jobs(record)
        };
        for key in load.keys {
            let key_state = KeyState {
                held: key.held,
                live_jobs: number(key.live_jobs),
                ..KeyState::default()
            };
            state.keys.insert(key.key, key_state);
        }
        Ok(SharedState {
            state,
            pause: pause.unwrap_or_default(),
        })
    }

    /// The time of the newest id, if another node created it: new ids must not be older.
    pub fn newest_of_others(&self) -> Option<Timestamp> {
        let sharing = self.sharing.as_ref()?;
        let is_own = sharing.decided_by == Some(sharing.node);
        sharing.newest.filter(|_| !is_own)
    }
}

impl Decisions<'_> {
    /// Reads the served turns for new jobs of these tiers.
    pub(super) fn served_turns(&mut self, tiers: &[Tier]) -> Result<[Turns; 3], StoreError> {
        let mut served = [Turns::default(); 3];
        if self.next.sharing.is_some() {
            for tier in tiers {
                let turns = self.records.read(&SERVED_TURNS, tier)?;
                served[tier.index()] = turns.unwrap_or_default();
            }
        }
        Ok(served)
    }

    /// Adds a new job to the shared queue.
    pub(super) fn queue(&mut self, job: &Job, served: &[Turns; 3]) {
        let Some(sharing) = &mut self.next.sharing else {
            return;
        };
        let (tier, class) = (job.tier, QueueClass::of_new(job));
        let turns = &mut sharing.turns[tier.index()];
        let turn = turns.next(class, &served[tier.index()]);
        turns.raise(class, turn);
        let entry = QueueEntry {
            tier,
            class,
            turn,
            job: job.id,
        };
        let caller = WaitingCaller {
            node: sharing.node,
            account: job.account,
        };
        self.records.put(QUEUE.put(&entry, &job.account));
        if job.origin == Origin::Synchronous {
            self.records.put(WAITING_CALLERS.put(&job.id, &caller));
        }
    }

    /// Deletes the node's claim on a job. Does nothing if the node never took it.
    pub fn release_taken(&mut self, job: JobId) {
        if let Some(sharing) = &self.next.sharing {
            let key = (sharing.node, job);
            self.records.put(TAKEN_JOBS.delete(&key));
        }
    }

    /// Deletes the waiting caller of an ended job.
    pub(super) fn delete_waiting_caller(&mut self, job: &Job) {
        if self.next.sharing.is_some() && job.origin == Origin::Synchronous {
            self.records.put(WAITING_CALLERS.delete(&job.id));
        }
    }

    /// Records the time of a new id, so that no node creates an older one.
    pub(super) fn record_id(&mut self, id: Uuid) {
        if let Some(sharing) = &mut self.next.sharing {
            sharing.newest = sharing.newest.max(moment_of(&id));
        }
    }

    /// Writes the state that the next round of any node reads.
    pub(super) fn write_load(&mut self) {
        let Some(sharing) = &self.next.sharing else {
            return;
        };
        let keys = self.keys_with_live_jobs().map(|(key, it)| KeyLoad {
            key: *key,
            live_jobs: it.live_jobs as u64,
            held: it.held,
        });
        let mut load = AccountLoad {
            live_jobs: self.next.live_jobs as u64,
            keys: keys.collect(),
            turns: sharing.turns,
            newest: sharing.newest,
            decided_by: Some(sharing.node),
        };
        load.keys.sort_by_key(|it| it.key);
        self.records
            .put(ACCOUNT_LOADS.put(&self.next.account.id, &load));
    }
}

/// The time of the newest stored id of an account: a job's or a ledger entry's.
fn newest_id(account: AccountId, reads: &RoundReads<'_>) -> Result<Option<Timestamp>, StoreError> {
    let last = |range: KeyRange| reads.pairs(&ReadRequest::Scan(range, Direction::Falling, 1));
    let reads = (
        last(LIVE_JOBS.range(&account)),
        last(ENDED_JOBS.range(&account)),
        last(LEDGER.range(&account)),
    );
    let (live, ended, entries) = reads.gather()?;
    let mut newest = None;
    for pairs in [live, ended, entries] {
        // Each of these keys ends with the id.
        for (key, _) in pairs.iter() {
            let id = key.last_chunk::<16>().copied().map(Uuid::from_bytes);
            newest = newest.max(id.and_then(|it| moment_of(&it)));
        }
    }
    Ok(newest)
}

fn number(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
