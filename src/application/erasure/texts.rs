//! Deletes the texts of records that are to be erased.

use super::jobs::delete_objects;
use crate::application::error::Error;
use crate::application::services::JobService;
use crate::objects::NamedObject;
use futures_util::stream::{self, StreamExt as _};
use std::collections::HashSet;
use std::hash::Hash;
use std::iter;

/// Records whose texts are deleted concurrently, before one commit.
const CONCURRENCY: usize = 16;

/// The records of a page with their texts, in portions that are each committed before the next texts are deleted, so that few records name
/// a deleted text, for a short time. The records without texts are one portion.
pub fn portions<Id: Copy>(
    page: impl Iterator<Item = (Id, Vec<NamedObject>)>,
) -> Vec<Vec<(Id, Vec<NamedObject>)>> {
    let (without_texts, others): (Vec<_>, Vec<_>) = page.partition(|(_, texts)| texts.is_empty());
    let others = others.chunks(CONCURRENCY).map(<[_]>::to_vec);
    let portions = iter::once(without_texts).chain(others);
    portions.filter(|it| !it.is_empty()).collect()
}

/// Deletes the texts of records that are to be erased, without a lock: the object store may take minutes. Returns the records whose texts
/// are deleted, also if the object store refuses another deletion.
pub async fn delete_texts<Id: Eq + Hash>(
    jobs: &JobService,
    portion: Vec<(Id, Vec<NamedObject>)>,
) -> (HashSet<Id>, Result<(), Error>) {
    let deletions = portion
        .into_iter()
        .map(async |(id, texts)| (id, delete_objects(jobs, texts).await));
    let mut deletions = stream::iter(deletions).buffer_unordered(CONCURRENCY);
    let (mut without_texts, mut outcome) = (HashSet::new(), Ok(()));
    while let Some((id, deleted)) = deletions.next().await {
        match deleted {
            Ok(()) => {
                without_texts.insert(id);
            }
            Err(error) => outcome = Err(error),
        }
    }
    (without_texts, outcome)
}
