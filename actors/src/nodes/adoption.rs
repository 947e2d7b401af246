//! Adoption: the first nodes that join a store convert it to a shared one. Each live job gets an entry in the shared queue.
//!
//! Several nodes may adopt a store at the same time, and each may die midway: every step holds the record of their progress.

use crate::round::decide;
use std::collections::HashSet;
use tintype_storage::domain::adoption::Adoption;
use tintype_storage::domain::ids::{AccountId, BatchId};
use tintype_storage::domain::job::{Job, JobState, Origin};
use tintype_storage::domain::node::AccountLoad;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry, Turns};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Direction, Key, ReadRequest};
use tintype_storage::store::tables::{
    ACCOUNT_LOADS, ADOPTION, BATCH_PROGRESS, EXPIRIES, LIVE_JOBS, QUEUE,
};
use tintype_storage::store::{
    All, Decision, Gather as _, RoundReads, Store, StoreError, Write, Writes,
};

/// Records per step.
const STEP: usize = 250;

/// Returns once the store is a shared one.
pub async fn adopt(store: &Store) -> Result<(), StoreError> {
    let mut begun = false;
    while ADOPTION.get(store, &()).await?.unwrap_or_default() != Adoption::Done {
        decide(store, AdoptJobs).await?;
        begun = true;
    }
    if begun {
        tracing::info!("several nodes can now share the store");
    }
    Ok(())
}

/// Adds the next live jobs to the shared queue.
struct AdoptJobs;

impl Decision for AdoptJobs {
    type Outcome = ();

    fn locked_keys(&self) -> Vec<Key> {
        vec![ADOPTION.key(&())]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![ADOPTION.request(&())]
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, ()), StoreError> {
        let adoption = reads.get(&ADOPTION, &())?.unwrap_or_default();
        let Adoption::Jobs { after } = adoption else {
            return Ok((Writes::new(), ()));
        };
        let range = LIVE_JOBS.range(&All);
        let range = match after {
            Some(after) => range.above(LIVE_JOBS.key(&after)),
            None => range,
        };
        let scan = ReadRequest::Scan(range, Direction::Rising, STEP);
        let jobs = reads.scan(&LIVE_JOBS, &scan)?.into_iter();
        let jobs: Vec<Job> = jobs.map(|(_, job)| job).collect();
        let accounts: HashSet<AccountId> = jobs.iter().map(|job| job.account).collect();
        let batches: HashSet<(AccountId, BatchId)> = jobs.iter().filter_map(batch_of).collect();
        let loads = reads.get_all(&ACCOUNT_LOADS, accounts);
        let batches = reads.get_all(&BATCH_PROGRESS, batches);
        let (mut loads, batches) = (loads, batches).gather()?;
        let mut writes = Writes::new();
        for job in &jobs {
            let load = loads.entry(job.account).or_default();
            load.add(job);
            let progress = batch_of(job).and_then(|it| batches.get(&it));
            let is_canceled = progress.is_some_and(|it| it.canceled_at.is_some());
            writes.push(queue_or_expire(job, load, is_canceled));
        }
        let loads = loads.iter();
        writes.extend(loads.map(|(account, load)| ACCOUNT_LOADS.put(account, load)));
        let last: Option<&Job> = jobs.last().filter(|_| jobs.len() == STEP);
        let next = match last.map(|job| (job.account, job.id)) {
            after @ Some(_) => Adoption::Jobs { after },
            None => Adoption::Done,
        };
        writes.push(ADOPTION.put(&(), &next));
        Ok((writes, ()))
    }
}

fn batch_of(job: &Job) -> Option<(AccountId, BatchId)> {
    Some((job.account, job.member()?.batch))
}

/// Queues a live job. A queued job whose batch is canceled, or whose synchronous caller was connected to the ended process, expires at
/// once instead.
fn queue_or_expire(job: &Job, load: &mut AccountLoad, is_canceled: bool) -> Write {
    let is_abandoned = is_canceled || job.origin == Origin::Synchronous;
    let class = match &job.state {
        JobState::Queued if is_abandoned => {
            return EXPIRIES.put(&(Timestamp::EPOCH, job.id), &job.account);
        }
        JobState::Queued => QueueClass::of_new(job),
        _ => QueueClass::Resumed,
    };
    let turns = &mut load.turns[job.tier.index()];
    let turn = match class {
        QueueClass::Resumed => 0,
        class => turns.next(class, &Turns::default()),
    };
    turns.raise(class, turn);
    let entry = QueueEntry {
        tier: job.tier,
        class,
        turn,
        job: job.id,
    };
    QUEUE.put(&entry, &job.account)
}
