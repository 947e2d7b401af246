//! Reads the records that exports of builds before the first release have in another form.

use super::line::Line;
use crate::domain::ids::{AccountId, BatchId, JobId, TransactionId};
use crate::domain::request::Fingerprint;
use crate::domain::time::Timestamp;
use crate::engine::Key;
use crate::store::tables::PANEL_KEYS;
use crate::store::{IdempotencyRecord, Made};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashSet;
use uuid::Uuid;

/// Where the letter of the call stands in the key of a use: after the table's prefix and the account.
const CALL: usize = 17;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EarlierUse {
    made: Uuid,
    fingerprint: Fingerprint,
    expires_at: Timestamp,
}

/// Brings the lines of an export into their current form, one after another.
#[derive(Default)]
pub struct EarlierRecords {
    /// The batches with an idempotency key, so far.
    batches: HashSet<Uuid>,
}

impl EarlierRecords {
    /// The current key and record of a line; `None` if no record has its content now.
    pub fn current<'a>(&mut self, key: Key, line: &'a Line<'_>) -> Option<(Key, Cow<'a, str>)> {
        let record = line.record.get();
        let changed = match &*line.kind {
            "idempotency_key" => self.current_use(&key, record),
            "panel_key" => current_panel_key(&key).map(|key| (key, record.into())),
            // The load builds the due index from the deliveries.
            "delivery_due" => return None,
            _ => None,
        };
        Some(changed.unwrap_or((key, record.into())))
    }

    /// `None` if the use has its current form.
    fn current_use(&mut self, key: &[u8], record: &str) -> Option<(Key, Cow<'static, str>)> {
        let EarlierUse {
            made: id,
            fingerprint,
            expires_at,
        } = serde_json::from_str(record).ok()?;
        let made = match key.get(CALL)? {
            b'a' => Made::Account(AccountId(id)),
            b'd' => Made::Entry(TransactionId(id)),
            // A batch had two uses. This one comes first.
            b'b' => {
                self.batches.insert(id);
                Made::Batch(BatchId(id))
            }
            b'g' if self.batches.contains(&id) => Made::Batch(BatchId(id)),
            b'g' => Made::Job(JobId(id)),
            _ => return None,
        };
        let mut key = key.to_vec();
        key[CALL] = made.call() as u8;
        let record = IdempotencyRecord {
            made,
            fingerprint,
            expires_at,
        };
        Some((key, serde_json::to_string(&record).ok()?.into()))
    }
}

/// `None` if the key has its current form.
fn current_panel_key(key: &[u8]) -> Option<Key> {
    let account = key.strip_prefix(b"spanel key of ")?;
    let account = AccountId(Uuid::try_parse_ascii(account).ok()?);
    Some(PANEL_KEYS.key(&account))
}
