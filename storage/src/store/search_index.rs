//! The search index: which jobs of an account may have a prompt with certain words.
//!
//! Blocks follow each other without a gap from the account's first job on, so the last block's key is the end of the index.
//! Newer jobs, including those that do not fill a block yet, are read from their records.

use super::tables::SEARCH_INDEX;
use super::{Part, Store, StoreError, Write};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::search_block::{MAX_JOBS, SearchBlock};
use crate::engine::Direction;
use uuid::Uuid;

/// Blocks per read, after the first few.
const STEP: usize = 64;

/// The next step of a search, which goes down through an account's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// Jobs from `from` on and below `below` may match.
    Read { from: JobId, below: Option<JobId> },
    /// No match yet; continue below this id.
    Continue { below: JobId },
    /// No further match.
    End,
}

impl Store {
    /// The last job in an account's index.
    pub async fn search_index_end(&self, account: AccountId) -> Result<Option<JobId>, StoreError> {
        let last = SEARCH_INDEX.first(self, &account, Direction::Falling);
        Ok(last.await?.map(|((_, last), _)| last))
    }

    /// Adds the next block to an account's index; `None` if the jobs below `settled` do not fill one. No job below `settled`
    /// may be accepted any more: a second read must return the same jobs.
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

    /// The next jobs of an account below an id that may contain all of these words, after reading at most `most` blocks. `end`
    /// is the last indexed job: all newer jobs are candidates.
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
        // A continued search may start within a block.
        let range = SEARCH_INDEX.between(&account, Some((account, below)), None);
        let mut blocks = SEARCH_INDEX
            .scan(self, &range, Direction::Rising, 1)
            .await?;
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
                return Ok(SearchStep::Continue { below });
            }
            let range = SEARCH_INDEX.between(&account, None, Some((account, below)));
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
