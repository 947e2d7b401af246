//! The search index: the distinct words of the prompts of many consecutive jobs of one account.
//!
//! A search finds the blocks that may contain matching jobs, and reads the records of their jobs only. An inverted index was
//! refused: a record per word and job is about 15 times the number of records of a store.

use super::ids::JobId;
use super::job::{Job, PromptRef};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub const MAX_JOBS: usize = 256;
/// The job whose words reach this size ends its block.
const FULL_BYTES: usize = 8 * 1024;
/// A block with more bytes of words stores none, because records are small. Prompts in records are shorter, so only prompts
/// written by another program exceed it.
const MOST_BYTES: usize = 15 * 1024;

/// A block of the index. Immutable, because a prompt is fixed at acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchBlock {
    /// The first job. The last job's id is the block's key.
    pub first: JobId,
    /// Distinct words in lower case, sorted, one per line; `None` if they are too many.
    words: Option<String>,
}

impl SearchBlock {
    /// Builds the block that these consecutive jobs start and returns it with its last job; `None` if the jobs do not fill a
    /// block.
    pub fn cut(jobs: &[Job]) -> Option<(JobId, Self)> {
        let first = jobs.first()?.id;
        let mut words = BTreeSet::new();
        let mut bytes = 0;
        for (at, job) in jobs.iter().enumerate() {
            for word in words_of(job) {
                let length = word.len() + 1;
                bytes += if words.insert(word) { length } else { 0 };
            }
            if at + 1 == MAX_JOBS || bytes >= FULL_BYTES {
                let words = join_words(words);
                return Some((job.id, Self { first, words }));
            }
        }
        None
    }

    /// Builds the block of exactly these jobs and returns it with the last one; `None` if there are none.
    pub fn of(jobs: &[Job]) -> Option<(JobId, Self)> {
        let (first, last) = (jobs.first()?.id, jobs.last()?.id);
        let words = join_words(jobs.iter().flat_map(words_of).collect());
        Some((last, Self { first, words }))
    }

    /// Can one of the block's jobs have a prompt with all of these words? `words` are in lower case and without white space.
    pub fn may_hold(&self, words: &[String]) -> bool {
        let Some(own) = &self.words else {
            return true;
        };
        words.iter().all(|word| own.contains(word.as_str()))
    }

    /// Are the block's words those of `jobs`, which are all of its jobs?
    pub fn is_of(&self, jobs: &[Job]) -> bool {
        Self::of(jobs).is_some_and(|(_, of_jobs)| of_jobs == *self)
    }
}

fn join_words(words: BTreeSet<String>) -> Option<String> {
    let text = words.into_iter().collect::<Vec<_>>().join("\n");
    Some(text).filter(|it| it.len() <= MOST_BYTES)
}

/// The words of a job's prompt. A prompt outside of the record is not searched.
fn words_of(job: &Job) -> Vec<String> {
    match &job.prompt {
        PromptRef::Inline(text) => {
            let prompt = text.prompt.to_lowercase();
            prompt.split_whitespace().map(str::to_owned).collect()
        }
        PromptRef::Stored(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::domain::job::JobState;

    use crate::testing::samples;
    use uuid::Uuid;

    fn jobs(prompts: impl IntoIterator<Item = String>) -> Vec<Job> {
        let numbered = |(at, prompt): (usize, String)| Job {
            id: JobId(Uuid::from_u128(at as u128 + 1)),
            prompt: samples::prompt(prompt),
            ..samples::job(JobState::Queued)
        };
        prompts.into_iter().enumerate().map(numbered).collect()
    }

    fn holds(block: &SearchBlock, words: &[&str]) -> bool {
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        block.may_hold(&words)
    }

    #[test]
    fn a_block_has_every_word_of_its_jobs_once() {
        let prompt = |at: usize| format!("A FOX\u{a0}number {at}");
        assert_eq!(SearchBlock::cut(&jobs((0..MAX_JOBS - 1).map(prompt))), None);
        let of = jobs((0..MAX_JOBS + 9).map(prompt));
        let (last, block) = SearchBlock::cut(&of).unwrap();
        assert_eq!((block.first, last), (of[0].id, of[MAX_JOBS - 1].id));
        let words = block.words.as_deref().unwrap();
        assert_eq!(words.split('\n').count(), 3 + MAX_JOBS);
        assert!(holds(&block, &["fox", "umb", "255"]));
        assert!(!holds(&block, &["fox", "256"]));
        // No word spans two stored words.
        assert!(!holds(&block, &["foxnumber"]));
        assert!(block.is_of(&of[..MAX_JOBS]));
        assert!(!block.is_of(&of[..MAX_JOBS - 1]) && !block.is_of(&of[1..=MAX_JOBS]));
        assert!(!block.is_of(&[]));
    }

    #[test]
    fn a_block_of_long_prompts_ends_early() {
        let long = |at: usize| {
            let words = (0..1_000).map(|word| format!("{at}-{word}"));
            words.collect::<Vec<_>>().join(" ")
        };
        let of = jobs((0..9).map(long));
        let (last, block) = SearchBlock::cut(&of).unwrap();
        assert_eq!(last, of[1].id);
        assert!(block.is_of(&of[..2]));
        assert!(!holds(&block, &["2-1"]));
        // A block without words may contain anything.
        let huge = jobs([(0..9).map(long).collect::<Vec<_>>().join(" ")]);
        let (_, block) = SearchBlock::cut(&huge).unwrap();
        assert!(holds(&block, &["2-1"]) && holds(&block, &["okapi"]));
        assert!(block.is_of(&huge) && block.words.is_none());
    }

    #[test]
    fn a_prompt_stored_outside_its_record_is_not_indexed() {
        let mut of = jobs((0..MAX_JOBS).map(|_| String::new()));
        of[7].prompt = PromptRef::Stored("prompts/fox".into());
        let (_, block) = SearchBlock::cut(&of).unwrap();
        assert_eq!(block.words.as_deref(), Some(""));
        assert!(block.is_of(&of));
    }
}
