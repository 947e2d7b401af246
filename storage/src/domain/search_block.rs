//! The search index: the words of the prompts of many consecutive jobs of one account, without repetition.
//!
//! A search asks the blocks which of them may hold jobs that match, and reads the records of these alone. A list of jobs for each
//! word would be found faster, but takes a record per word and job: about fifteen times the number of records of a store.

use super::ids::JobId;
use super::job::{Job, PromptRef};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Jobs of one block, at the most.
pub const MAX_JOBS: usize = 256;
/// A block ends with the job whose words take it to this many bytes.
const FULL_BYTES: usize = 8 * 1024;
/// More words than this a block does not keep: records are small. Prompts in records are smaller than this, so a block passes it
/// only with prompts that another program has written.
const MOST_BYTES: usize = 15 * 1024;

/// A block of the index. It is written once and never changed: a prompt is fixed at acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchBlock {
    /// The first of its jobs; the last one is its key.
    pub first: JobId,
    /// Each word once, in lower case, in order, one a line; `None` where they are too many.
    words: Option<String>,
}

impl SearchBlock {
    /// The block that these consecutive jobs begin, and the last of its jobs; `None` where they do not fill one.
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
                let words = joined(words);
                return Some((job.id, Self { first, words }));
            }
        }
        None
    }

    /// May one of its jobs have a prompt that holds all of these words, which are in lower case and have no white space?
    pub fn may_hold(&self, words: &[String]) -> bool {
        let Some(own) = &self.words else {
            return true;
        };
        words.iter().all(|word| own.contains(word.as_str()))
    }

    /// Are the words of these jobs, which are all of its jobs, its words?
    pub fn is_of(&self, jobs: &[Job]) -> bool {
        let words = jobs.iter().flat_map(words_of).collect();
        jobs.first().is_some_and(|job| job.id == self.first) && self.words == joined(words)
    }
}

fn joined(words: BTreeSet<String>) -> Option<String> {
    let joined = words.into_iter().collect::<Vec<_>>().join("\n");
    Some(joined).filter(|it| it.len() <= MOST_BYTES)
}

/// The words of the prompt of a job. One that is too large for its record is not searched.
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
        // No word reaches from one to the next.
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
        // What has no room in a record may be anywhere.
        let huge = jobs([(0..9).map(long).collect::<Vec<_>>().join(" ")]);
        let (_, block) = SearchBlock::cut(&huge).unwrap();
        assert!(holds(&block, &["2-1"]) && holds(&block, &["okapi"]));
        assert!(block.is_of(&huge) && block.words.is_none());
    }

    #[test]
    fn a_prompt_outside_of_its_record_has_no_words() {
        let mut of = jobs((0..MAX_JOBS).map(|_| String::new()));
        of[7].prompt = PromptRef::Stored("prompts/fox".into());
        let (_, block) = SearchBlock::cut(&of).unwrap();
        assert_eq!(block.words.as_deref(), Some(""));
        assert!(block.is_of(&of));
    }
}
