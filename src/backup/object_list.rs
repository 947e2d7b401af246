//! The objects that a record references, and the list of them in a backup, in the order of the records.

use super::repository::rewind;
use crate::objects::{NamedObject, ObjectDigest, is_result};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::export::{Entry, Reader};
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::{
    BATCHES, DELETED_IMAGES, ENDED_JOBS, FAVOURITES, LIVE_JOBS, UPLOADED_FILES,
};

const MAX_LINE_BYTES: u64 = 64 * 1024;

/// An entry of the list: one JSON line.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ListEntry {
    /// The key of the record that references the object, in hexadecimal.
    pub record: String,
    /// The key of the object in the object store.
    pub key: String,
    /// `None` if the object is not in the backup.
    #[serde(flatten)]
    pub digest: Option<ObjectDigest>,
    /// Why the object is not in the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<OmitReason>,
}

/// Why an object is not in a backup.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OmitReason {
    /// Retention or its owner has deleted it.
    Expired,
    /// It should exist and does not, or it has another length than recorded.
    Missing,
}

/// A reference of a record to an object.
#[derive(Clone, Debug)]
pub struct ObjectRef {
    /// The key of the record, in hexadecimal.
    pub record: String,
    /// The key of the object in the object store.
    pub key: String,
    /// As recorded. `None` if the record does not contain the length.
    pub bytes: Option<u64>,
    pub lifetime: Lifetime,
}

/// How long the service keeps an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// A live job or a favourite needs it.
    Kept,
    /// Retention may delete it: its job ended at this time.
    Ended(Timestamp),
    /// The service may delete its record, and then the object, at any time.
    Deletable,
    /// The image was deleted on demand.
    Deleted,
}

/// Returns the objects that a record references. Only live jobs reference their inputs, which are removed when a job ends.
///
/// # Errors
/// The record is damaged.
pub fn referenced_objects(entry: &Entry) -> Result<Vec<ObjectRef>, StoreError> {
    let reference = |object: NamedObject, lifetime| ObjectRef {
        record: hex::encode(&entry.key),
        key: object.key,
        bytes: object.bytes,
        lifetime,
    };
    Ok(match entry.kind {
        "batch" => NamedObject::of_batch(&BATCHES.decode(&entry.value)?)
            .map(|it| reference(it, Lifetime::Deletable))
            .into_iter()
            .collect(),
        "uploaded_file" => {
            let object = NamedObject::of_upload(&UPLOADED_FILES.decode(&entry.value)?);
            vec![reference(object, Lifetime::Deletable)]
        }
        "live_job" | "ended_job" => {
            let job = LIVE_JOBS.decode(&entry.value)?;
            let ended = job.state.finished_at();
            let lifetime = ended.map_or(Lifetime::Kept, Lifetime::Ended);
            NamedObject::of_job(&job)
                .map(|it| reference(it, lifetime))
                .collect()
        }
        _ => Vec::new(),
    })
}

/// The marks of jobs among the records read so far.
#[derive(Debug, Default)]
struct Marks {
    /// Retention does not remove their images.
    favourites: HashSet<JobId>,
    /// Their images were deleted on demand.
    deleted: HashSet<JobId>,
}

impl Marks {
    /// Returns the objects that the next record references. Call it in the order of the records: marks precede jobs.
    ///
    /// # Errors
    /// The record is damaged.
    pub fn referenced_objects(&mut self, entry: &Entry) -> Result<Vec<ObjectRef>, StoreError> {
        let favourite = FAVOURITES.read_key(&entry.key);
        let deleted = DELETED_IMAGES.read_key(&entry.key);
        self.favourites.extend(favourite.map(|(_, job)| job));
        self.deleted.extend(deleted.map(|(_, job)| job));
        let mut objects = referenced_objects(entry)?;
        let job = ENDED_JOBS.read_key(&entry.key).map(|(_, job)| job);
        let is_in = |jobs: &HashSet<JobId>| job.is_some_and(|job| jobs.contains(&job));
        let (is_favourite, is_deleted) = (is_in(&self.favourites), is_in(&self.deleted));
        for object in &mut objects {
            if is_deleted && is_result(&object.key) {
                object.lifetime = Lifetime::Deleted;
            } else if is_favourite {
                object.lifetime = Lifetime::Kept;
            }
        }
        Ok(objects)
    }
}

/// The objects that the records of an export reference, in the order of the records.
pub struct References {
    reader: Reader<BufReader<File>>,
    marks: Marks,
    waiting: VecDeque<ObjectRef>,
}

impl References {
    /// # Errors
    /// The export cannot be read.
    pub fn of(records: &File) -> anyhow::Result<Self> {
        Ok(Self {
            reader: Reader::new(rewind(records)?)?,
            marks: Marks::default(),
            waiting: VecDeque::new(),
        })
    }

    /// The number of records. 0 before the end of the export.
    pub fn record_count(&self) -> u64 {
        self.reader.summary().map_or(0, |it| it.records)
    }

    fn next_object(&mut self) -> anyhow::Result<Option<ObjectRef>> {
        while self.waiting.is_empty() {
            let Some(entry) = self.reader.read()? else {
                return Ok(None);
            };
            self.waiting.extend(self.marks.referenced_objects(&entry)?);
        }
        Ok(self.waiting.pop_front())
    }
}

impl Iterator for References {
    type Item = anyhow::Result<ObjectRef>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_object().transpose()
    }
}

/// A reader of the list.
pub struct ObjectList {
    lines: BufReader<File>,
    number: u64,
    /// Entries that [`ObjectList::find`] has read ahead.
    ahead: VecDeque<ListEntry>,
}

impl ObjectList {
    pub fn new(file: &File) -> io::Result<Self> {
        Ok(Self {
            lines: rewind(file)?,
            number: 0,
            ahead: VecDeque::new(),
        })
    }

    /// Reads the next entry.
    ///
    /// # Errors
    /// The file cannot be read, or the line is damaged.
    pub fn read(&mut self) -> anyhow::Result<Option<ListEntry>> {
        if let Some(listed) = self.ahead.pop_front() {
            return Ok(Some(listed));
        }
        let mut line = Vec::new();
        let read = (&mut self.lines)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let listed = serde_json::from_slice(&line);
        Ok(Some(listed.with_context(|| {
            format!("line {} of the list of images", self.number)
        })?))
    }

    /// Finds the entry of an object, and skips earlier entries. Call it in the order of the records.
    pub fn find(&mut self, object: &ObjectRef) -> anyhow::Result<Option<ListEntry>> {
        loop {
            let Some(listed) = self.read()? else {
                return Ok(None);
            };
            if listed.record > object.record {
                self.ahead.push_front(listed);
                return Ok(None);
            }
            if listed.record == object.record && listed.key == object.key {
                return Ok(Some(listed));
            }
        }
    }

    /// Reads the next entry and checks that it is the one of this object.
    ///
    /// # Errors
    /// It is another one, so the list does not belong to these records.
    pub fn expect(&mut self, object: &ObjectRef) -> anyhow::Result<ListEntry> {
        match self.read()? {
            Some(it) if it.record == object.record && it.key == object.key => Ok(it),
            _ => bail!(
                "a record references {}, which is not in the list of images",
                object.key
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::file_batch::UploadedFile;
    use tintype_storage::domain::ids::{AccountId, FileId};
    use tintype_storage::store::AnyTable as _;
    use uuid::Uuid;

    #[test]
    fn an_uploaded_file_is_part_of_a_backup() {
        let file = UploadedFile {
            id: FileId(Uuid::from_u128(2)),
            account: AccountId(Uuid::from_u128(1)),
            name: "batch.jsonl".into(),
            bytes: 3,
            created_at: Timestamp::from_millis(4),
            expires_at: None,
        };
        let entry = Entry {
            kind: UPLOADED_FILES.name(),
            key: UPLOADED_FILES.key(&(file.account, file.id)),
            value: UPLOADED_FILES.encode(&file),
        };
        let keys: Vec<String> = referenced_objects(&entry)
            .unwrap()
            .into_iter()
            .map(|it| it.key)
            .collect();
        let id = |number| Uuid::from_u128(number);
        assert_eq!(keys, [format!("uploads/{}/{}.jsonl", id(1), id(2))]);
    }

    #[test]
    fn the_image_of_an_old_favourite_has_not_expired_and_a_deleted_image_is_left_out() {
        let key = (AccountId(Uuid::from_u128(1)), JobId(Uuid::from_u128(2)));
        let done = r#"{"id":"00000000-0000-0000-0000-000000000002","account":"00000000-0000-0000-0000-000000000001","key":"00000000-0000-0000-0000-000000000003","tier":"Fast","mode":"TextToImage","aspect":{"Fixed":[1,1]},"ratio":[1,1],"resolution":"K1","prompt":{"Inline":{"prompt":"a fox","metadata":null}},"callback":null,"origin":"Native","inputs":[],"price":"0.039","created_at":1,"state":{"Done":{"started_at":2,"finished_at":3,"image":{"key":"results/2.png","bytes":1,"width":1,"height":1,"backend":null}}}}"#;
        let job = Entry {
            kind: ENDED_JOBS.name(),
            key: ENDED_JOBS.key(&key),
            value: ENDED_JOBS.parse_json(done).unwrap(),
        };
        let favourite = Entry {
            kind: FAVOURITES.name(),
            key: FAVOURITES.key(&key),
            value: FAVOURITES.encode(&Timestamp::from_millis(4)),
        };
        let deleted = Entry {
            kind: DELETED_IMAGES.name(),
            key: DELETED_IMAGES.key(&key),
            value: DELETED_IMAGES.encode(&Timestamp::from_millis(4)),
        };
        let mut marks = Marks::default();
        let mut lifetime_after = |mark: Option<&Entry>| {
            if let Some(mark) = mark {
                assert_eq!(marks.referenced_objects(mark).unwrap().len(), 0);
            }
            marks.referenced_objects(&job).unwrap()[0].lifetime
        };
        let ended = Lifetime::Ended(Timestamp::from_millis(3));
        assert_eq!(lifetime_after(None), ended);
        assert_eq!(lifetime_after(Some(&favourite)), Lifetime::Kept);
        assert_eq!(lifetime_after(Some(&deleted)), Lifetime::Deleted);
        for mark in [favourite, deleted] {
            assert!(mark.key < job.key, "marks come before the jobs");
        }
    }
}
