//! Builds the search index in the background. Accepting and ending jobs writes nothing to it.

use crate::application::core::Core;
use crate::application::core::commit::Change;
use crate::application::nodes::maintainer::Maintainer;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{JobRange, Part, StoreError};
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval};

const TICK: Duration = Duration::from_secs(1);
/// Ticks between two rounds over all accounts.
const ROUND_EVERY: u32 = 10;
/// Minimum number of accounts per turn. An idle account costs two small reads.
const MIN_ACCOUNTS: usize = 20;
/// Turns of a round, not counting turns that write blocks.
const MAX_TURNS: usize = 300;
/// Blocks written in one turn. Indexing a million jobs takes some minutes.
const BLOCKS_PER_TURN: usize = 40;
/// Accounts read at a time.
const STEP: usize = 500;
/// Minimum age of an indexed job: the commit of an older job may become visible later than a newer one.
const SETTLE_MILLIS: i64 = 10_000;

#[derive(Default)]
pub struct SearchIndexer {
    waiting: VecDeque<AccountId>,
    /// Accounts per turn.
    step: usize,
    /// The newest settled job of accounts whose jobs fill no block.
    seen: HashMap<AccountId, JobId>,
}

/// Runs until the process stops.
pub async fn run(core: Arc<Core>, maintainer: Arc<Maintainer>) {
    let mut indexer = SearchIndexer::default();
    let mut stopping = core.stopping.subscribe();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for count in 0u32.. {
        tokio::select! {
            _ = tick.tick() => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        if !maintainer.is_this_node() {
            continue;
        }
        let outcome = async {
            if count.is_multiple_of(ROUND_EVERY) && indexer.is_done() {
                indexer.begin_round(&core).await?;
            }
            indexer.turn(&core).await
        };
        if let Err(error) = outcome.await {
            if !core.is_ending() {
                tracing::error!(%error, "could not extend the search index");
            }
            return;
        }
    }
}

fn settled_at(now: Timestamp) -> Timestamp {
    Timestamp::from_millis((now.millis() - SETTLE_MILLIS).max(0))
}

impl SearchIndexer {
    /// Has the round visited every account?
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Begins a round over all accounts.
    pub async fn begin_round(&mut self, core: &Core) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = core.store.accounts(STEP, after).await?;
            self.waiting.extend(page.items.iter().map(|it| it.id));
            after = page.next;
            if after.is_none() {
                self.step = MIN_ACCOUNTS.max(self.waiting.len() / MAX_TURNS);
                return Ok(());
            }
        }
    }

    /// Visits some accounts and writes some blocks.
    pub async fn turn(&mut self, core: &Core) -> Result<(), StoreError> {
        let settled = JobId::first_of(settled_at(core.now()));
        let mut blocks = 0;
        for _ in 0..self.step {
            let Some(account) = self.waiting.front().copied() else {
                return Ok(());
            };
            while self.extend(core, account, settled).await? {
                blocks += 1;
                if blocks == BLOCKS_PER_TURN {
                    // Fair between accounts.
                    self.waiting.rotate_left(1);
                    return Ok(());
                }
                yield_now().await;
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Adds a block to the index of an account if its settled jobs fill one.
    async fn extend(
        &mut self,
        core: &Core,
        account: AccountId,
        settled: JobId,
    ) -> Result<bool, StoreError> {
        let range = JobRange::below(Some(settled));
        let newest = core.store.jobs_of(account, Part::All, range, 1).await?;
        let Some(newest) = newest.first().map(|job| job.id) else {
            return Ok(false);
        };
        if self.seen.get(&account) == Some(&newest) {
            return Ok(false);
        }
        let find = async || core.store.next_search_block(account, settled).await;
        if find().await?.is_none() {
            self.seen.insert(account, newest);
            return Ok(false);
        }
        // Jobs of the block may have been deleted since the read, and the deletion found no block with their words. It holds this lock.
        let Ok(guard) = core.locks.content.lock().await else {
            return Ok(false);
        };
        let Some(write) = find().await? else {
            return Ok(false);
        };
        core.commit(Change::under_lock(guard, vec![write])).await?;
        Ok(true)
    }
}
