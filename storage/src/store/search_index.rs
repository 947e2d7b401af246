//! The search index: which jobs of an account may have a prompt with certain words.
//!
//! Blocks follow each other without a gap from the first job of an account on, so the key of the last block says how far the
//! index has got. What lies behind it, jobs that do not fill a block among it, is read from the records.

use super::tables::SEARCH_INDEX;
use super::{Part, Store, StoreError, Write};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::search_block::{MAX_JOBS, SearchBlock};
use crate::engine::Direction;
use uuid::Uuid;

/// Blocks that are read at a time, after the first few.
const STEP: usize = 64;

/// Where a search that goes down through the jobs of an account goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// Jobs from the first id on, below the second, may match.
    Read { from: JobId, below: Option<JobId> },
    /// So far there is none; those below this id are yet to be looked for.
    GoOn { below: JobId },
    /// There is none.
    End,
}

impl Store {
    /// The last job that the index of an account knows.
    pub async fn search_index_end(&self, account: AccountId) -> Result<Option<JobId>, StoreError> {
        let range = SEARCH_INDEX.range(&account);
        let last = SEARCH_INDEX
            .scan(self, &range, Direction::Falling, 1)
            .await?;
        Ok(last.into_iter().next().map(|((_, last), _)| last))
    }

    /// The write that adds the next block to the index of an account; `None` where the jobs
    /// below `settled` do not fill one. Read again, these jobs must be the same: none may be accepted below `settled` any more.
    pub async fn next_search_block(
        &self,
        account: AccountId,
        settled: JobId,
    ) -> Result<Option<Write>, StoreError> {
        let end = self.search_index_end(account).await?;
        let from = end.map_or(JobId(Uuid::nil()), JobId::next);
        let Some(to) = settled.0.as_u128().checked_sub(1) else {
            return Ok(None);
        };
        let to = JobId(Uuid::from_u128(to));
        let jobs = self
            .rising_jobs_of(account, Part::All, from, to, MAX_JOBS)
            .await?;
        Ok(SearchBlock::cut(&jobs).map(|(last, block)| SEARCH_INDEX.put(&(account, last), &block)))
    }

    /// The next jobs of an account, below an id, that may hold all of these words, after a look at `most` blocks. `end` is the
    /// last job of the index: those behind it are all to be read.
    pub async fn next_search_step(
        &self,
        account: AccountId,
        words: &[String],
        end: Option<JobId>,
        below: Option<JobId>,
        most: usize,
    ) -> Result<SearchStep, StoreError> {
        let from = end.map_or(JobId(Uuid::nil()), JobId::next);
        let Some(mut below) = below.filter(|below| *below <= from) else {
            return Ok(SearchStep::Read { from, below });
        };
        // A search that goes on may begin within a block.
        let range = SEARCH_INDEX
            .range(&account)
            .starting_at(SEARCH_INDEX.key(&(account, below)));
        let within = SEARCH_INDEX
            .scan(self, &range, Direction::Rising, 1)
            .await?;
        let mut blocks = within;
        blocks.retain(|(_, block)| block.first < below);
        let (mut looked_at, mut step) = (0, 1);
        loop {
            for ((_, last), block) in blocks {
                looked_at += 1;
                if block.may_hold(words) {
                    let below = Some(below.min(last.next()));
                    let from = block.first;
                    return Ok(SearchStep::Read { from, below });
                }
                below = block.first;
            }
            if looked_at >= most {
                return Ok(SearchStep::GoOn { below });
            }
            let range = SEARCH_INDEX
                .range(&account)
                .below(SEARCH_INDEX.key(&(account, below)));
            blocks = SEARCH_INDEX
                .scan(self, &range, Direction::Falling, step)
                .await?;
            if blocks.is_empty() {
                return Ok(SearchStep::End);
            }
            step = (step * 4).min(STEP);
        }
    }
}
