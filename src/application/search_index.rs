//! Builds the search index behind the service: jobs are accepted and ended without a byte for it.

use super::state::AppState;
use actix_web::web::Data;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{Part, StoreError};
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval};

const PULSE: Duration = Duration::from_secs(1);
/// Pulses between two rounds over all accounts.
const ROUND_EVERY: u32 = 10;
/// Accounts that are looked at in one turn, at the least: two small reads each, where nothing has happened.
const ACCOUNTS: usize = 20;
/// Turns of a round, at the most, but for those that write blocks.
const TURNS: usize = 300;
/// Blocks that are written in one turn. A store of a million jobs is indexed in some minutes.
const BLOCKS: usize = 40;
/// Accounts that are read from the store at a time.
const STEP: usize = 500;
/// Jobs this young wait: the commit of an older one may be about to become visible.
const SETTLES_MILLIS: i64 = 10_000;

/// Which accounts are next, and what was seen of each.
#[derive(Default)]
pub struct SearchIndexer {
    waiting: VecDeque<AccountId>,
    /// Accounts of one turn.
    step: usize,
    /// The newest settled job of accounts whose jobs fill no block.
    seen: HashMap<AccountId, JobId>,
}

/// Runs for as long as the process does.
pub async fn run(state: Data<AppState>) {
    let mut indexer = SearchIndexer::default();
    let mut stopping = state.stopping.subscribe();
    let mut pulse = interval(PULSE);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for beat in 0u32.. {
        tokio::select! {
            _ = pulse.tick() => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        if !state.maintainer.is_this_node() {
            continue;
        }
        let outcome = async {
            if beat.is_multiple_of(ROUND_EVERY) && indexer.is_done() {
                indexer.begin_round(&state).await?;
            }
            indexer.turn(&state).await
        };
        if let Err(error) = outcome.await {
            tracing::error!(%error, "could not extend the search index");
            return;
        }
    }
}

fn settled_at(now: Timestamp) -> Timestamp {
    Timestamp::from_millis((now.millis() - SETTLES_MILLIS).max(0))
}

impl SearchIndexer {
    /// Has every account of the round been looked at?
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Begins a round over all accounts.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin_round(&mut self, state: &AppState) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = state.store.accounts(STEP, after).await?;
            self.waiting.extend(page.items.iter().map(|it| it.id));
            after = page.next;
            if after.is_none() {
                self.step = ACCOUNTS.max(self.waiting.len() / TURNS);
                return Ok(());
            }
        }
    }

    /// Looks at some accounts, and writes some blocks.
    ///
    /// # Errors
    /// The store fails.
    pub async fn turn(&mut self, state: &AppState) -> Result<(), StoreError> {
        let settled = JobId::first_of(settled_at(state.now()));
        let mut blocks = 0;
        for _ in 0..self.step {
            let Some(account) = self.waiting.front().copied() else {
                return Ok(());
            };
            while self.extend(state, account, settled).await? {
                blocks += 1;
                if blocks == BLOCKS {
                    // Each account has its turn.
                    self.waiting.rotate_left(1);
                    return Ok(());
                }
                // Others have their turn on this thread.
                yield_now().await;
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Adds a block to the index of an account, if its settled jobs fill one.
    async fn extend(
        &mut self,
        state: &AppState,
        account: AccountId,
        settled: JobId,
    ) -> Result<bool, StoreError> {
        let newest = state
            .store
            .jobs_of(account, Part::All, Some(settled), None, 1)
            .await?;
        let Some(newest) = newest.first().map(|job| job.id) else {
            return Ok(false);
        };
        if self.seen.get(&account) == Some(&newest) {
            return Ok(false);
        }
        match state.store.next_search_block(account, settled).await? {
            Some(write) => {
                state.commit(vec![write]).await?;
                Ok(true)
            }
            None => {
                self.seen.insert(account, newest);
                Ok(false)
            }
        }
    }
}
