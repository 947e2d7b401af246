//! All tables, one line each: key, record, prefix of the stored keys, name in exports.

use super::records::{
    DailyUsageKey, DueEntry, Generation, IdempotencyKey, IdempotencyRecord, Mark, PersonRef,
};
use super::table::{AnyTable, Table};
use crate::domain::account::Account;
use crate::domain::adoption::Adoption;
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, DeletedKey, KeyHash};
use crate::domain::audit_log::AuditEntry;
use crate::domain::backend_pauses::BackendPauses;
use crate::domain::batch::{Batch, BatchProgress};
use crate::domain::daily_usage::DailyUsage;
use crate::domain::delivery::{Attempt, Delivery, DeliveryId};
use crate::domain::file_batch::{FileBatch, UploadedFile};
use crate::domain::ids::{
    AccountId, AuditId, BatchId, FileId, JobId, KeyId, NodeId, TransactionId,
};
use crate::domain::job::Job;
use crate::domain::ledger::LedgerEntry;
use crate::domain::lock::{Lock, LockName};
use crate::domain::node::{AccountLoad, Node, TakenJob, WaitingCaller};
use crate::domain::operator_event::{Alarms, OperatorEvent};
use crate::domain::pause::Pause;
use crate::domain::person::{Digest32, Person, PersonId, Session};
use crate::domain::queue_entry::{QueueEntry, Turns};
use crate::domain::rate_count::RateCounts;
use crate::domain::search_block::SearchBlock;
use crate::domain::shard::{Shard, ShardHolder};
use crate::domain::shared_slots::SharedSlots;
use crate::domain::spending::Spending;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{SealedSecret, Webhook, WebhookId};
use uuid::Uuid;

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident: $key:ty => $record:ty = $prefix:literal $name:literal $(.$with:ident($($how:expr)?))*;)+) => {
        $($(#[$doc])* pub static $table: Table<$key, $record> = Table::<$key, $record>::new($prefix, $name)$(.$with($($how)?))*;)+

        static ALL: &[&dyn AnyTable] = &[$(&$table),+];
    };
}

tables! {
    ACCOUNTS: AccountId => Account = b"a" "account" .fits(|id, it| it.id == *id);
    /// Jobs that are not terminal. The key contains the account, so another account's job is not found.
    LIVE_JOBS: (AccountId, JobId) => Job = b"l" "live_job" .fits(|key, it| (it.account, it.id) == *key);
    ENDED_JOBS: (AccountId, JobId) => Job = b"e" "ended_job" .fits(|key, it| (it.account, it.id) == *key);
    LEDGER: (AccountId, TransactionId) => LedgerEntry = b"t" "ledger_entry" .fits(|key, it| it.id == key.1) .newest_first();
    IDEMPOTENCY: IdempotencyKey => IdempotencyRecord = b"i" "idempotency_key" .fits(|key, it| (it.made.call(), it.expires_at) == (key.call, key.expires_at));
    /// The lookup of authentication.
    API_KEYS: KeyHash => ApiKey = b"h" "api_key";
    API_KEYS_BY_ID: KeyId => KeyHash = b"k" "api_key_by_id";
    API_KEYS_OF_ACCOUNT: (AccountId, KeyId) => KeyHash = b"o" "api_key_of_account";
    /// The spending of keys, including removed ones.
    API_KEY_SPENDING: KeyId => Spending = b"u" "api_key_spending";
    API_KEY_LAST_USE: KeyId => Timestamp = b"y" "api_key_last_use";
    /// The key to which images of the panel are charged.
    PANEL_KEYS: AccountId => KeyId = b"L" "panel_key";
    DELETED_API_KEYS: KeyId => DeletedKey = b"H" "deleted_api_key";
    /// Hashes of rotated texts: the second lookup of authentication.
    RETIRED_API_KEYS: KeyHash => KeyId = b"r" "api_key_earlier_text";
    WEBHOOKS: (AccountId, WebhookId) => Webhook = b"w" "webhook" .fits(|key, it| (it.account, it.id) == *key);
    WEBHOOK_ACCOUNTS: WebhookId => AccountId = b"W" "webhook_account";
    DELIVERIES: (AccountId, DeliveryId) => Delivery = b"v" "delivery" .fits(|key, it| (it.account, it.id) == *key) .newest_first();
    DELIVERY_ACCOUNTS: DeliveryId => AccountId = b"V" "delivery_account";
    /// Pending deliveries by shard and due time. An import builds them.
    DUE_DELIVERIES: (Shard, (Timestamp, DeliveryId)) => DueEntry = b"q" "delivery_due" .fits(|key, it| it.key() == *key) .exported(false);
    ATTEMPTS: (DeliveryId, u32) => Attempt = b"n" "attempt";
    /// The events of deliveries to the operator.
    OPERATOR_EVENTS: DeliveryId => OperatorEvent = b"E" "operator_event";
    AUDIT_LOG: AuditId => AuditEntry = b"A" "audit_entry" .newest_first();
    PEOPLE: (AccountId, PersonId) => Person = b"p" "person" .fits(|key, it| (it.account, it.id) == *key);
    /// By the SHA-256 of the address, because addresses vary in length.
    PEOPLE_BY_EMAIL: Digest32 => PersonRef = b"P" "person_by_email";
    SESSIONS: Digest32 => Session = b"z" "session";
    /// Start deadlines of queued jobs.
    EXPIRIES: (Timestamp, JobId) => AccountId = b"x" "job_expiry";
    BATCHES: (AccountId, BatchId) => Batch = b"b" "batch" .fits(|key, it| (it.account, it.id) == *key) .newest_first();
    BATCH_PROGRESS: (AccountId, BatchId) => BatchProgress = b"g" "batch_progress";
    UPLOADED_FILES: (AccountId, FileId) => UploadedFile = b"f" "uploaded_file" .fits(|key, it| (it.account, it.id) == *key) .newest_first();
    /// Batches submitted as files. An accepted one has a batch record with the same id too.
    FILE_BATCHES: (AccountId, BatchId) => FileBatch = b"B" "file_batch" .fits(|key, it| (it.account, it.id) == *key) .newest_first();
    /// Jobs whose images retention keeps, with the time of marking.
    FAVOURITES: (AccountId, JobId) => Timestamp = b"F" "favourite";
    /// The lookup of retention, which knows only an image's job.
    FAVOURITE_ACCOUNTS: JobId => AccountId = b"G" "favourite_account";
    /// Jobs whose images were deleted on demand, with the time.
    DELETED_IMAGES: (AccountId, JobId) => Timestamp = b"I" "deleted_image";
    /// What was refunded of each job's charge.
    JOB_REFUNDS: (AccountId, JobId) => Amount = b"M" "job_refund";
    /// The sum of all refunds of an account, also of deleted jobs.
    ACCOUNT_REFUNDS: AccountId => Amount = b"U" "account_refunds";
    /// Blocks of the search index, by their last job.
    SEARCH_INDEX: (AccountId, JobId) => SearchBlock = b"c" "search_block" .fits(|key, it| it.first <= key.1);
    DAILY_USAGE: DailyUsageKey => DailyUsage = b"d" "daily_usage";
    /// Live sums per account, if several nodes share the store.
    ACCOUNT_LOADS: AccountId => AccountLoad = b"m" "account_load" .exported(false);
    /// Queued jobs, if several nodes share the store.
    QUEUE: QueueEntry => AccountId = b"j" "queue_entry" .exported(false);
    /// The turns served by a tier's queue.
    SERVED_TURNS: Tier => Turns = b"T" "served_turns" .exported(false);
    NODES: NodeId => Node = b"N" "node" .exported(false);
    /// Jobs that nodes have taken from the queue.
    TAKEN_JOBS: (NodeId, JobId) => TakenJob = b"R" "taken_job" .exported(false);
    /// Locks between nodes.
    LOCKS: LockName => Lock = b"K" "lock" .exported(false);
    /// The node that sends to a shard's receivers.
    SHARD_HOLDERS: Shard => ShardHolder = b"D" "shard_holder" .exported(false);
    /// The node to which the caller of a synchronous job is connected.
    WAITING_CALLERS: JobId => WaitingCaller = b"C" "waiting_caller" .exported(false);
    /// Recently admitted calls per node, in parts.
    RATE_COUNTS: (NodeId, u32) => RateCounts = b"X" "rate_counts" .exported(false);
    /// The progress of converting a single process's records for nodes.
    ADOPTION: () => Adoption = b"sadoption" "adoption" .exported(false);
    /// The nodes' slots of shared backends.
    SHARED_SLOTS: () => SharedSlots = b"sshared slots" "shared_slots" .exported(false);
    PAUSE: () => Pause = b"spause" "pause";
    /// A record besides the pauses of models, so that an older version still reads those.
    BACKEND_PAUSES: () => BackendPauses = b"sbackend pauses" "backend_pauses";
    OPERATOR_SESSIONS: () => Generation = b"soperator sessions" "operator_sessions";
    /// Deliveries of earlier ends may have been deleted: verification distinguishes a deleted delivery from a lost one.
    DELIVERIES_FORGOTTEN: () => Timestamp = b"sdeliveries forgotten before" "deliveries_forgotten";
    /// Jobs that ended before this time may have been deleted: verification then relies on the daily usage.
    JOBS_FORGOTTEN: () => Timestamp = b"sjobs forgotten before" "jobs_forgotten";
    /// Batches that failed and have earlier ids may have been deleted: verification then accepts idempotency keys that refer to them.
    FAILED_BATCHES_FORGOTTEN: () => Timestamp = b"sfailed batches forgotten before" "failed_batches_forgotten";
    /// Images of jobs that ended before this time may have been deleted, also if a longer retention was configured later.
    IMAGES_FORGOTTEN: () => Timestamp = b"simages forgotten before" "images_forgotten";
    /// The objects of images that were deleted on demand before this time are deleted.
    DELETIONS_COMPLETE: () => Timestamp = b"sdeletions complete before" "deletions_complete";
    /// Ids up to this time may belong to records that were created earlier, under a clock that was set back.
    IDS_AHEAD: () => Timestamp = b"sids ahead until" "ids_ahead";
    /// The service has had a first key: if the operator removes all keys, it creates no other.
    FIRST_KEY: () => Mark = b"sfirst key" "first_key";
    /// A load into a database is in progress: the records are incomplete.
    UNFINISHED: () => Mark = b"sunfinished" "unfinished" .exported(false);
    /// Where and when `tintype move` moved these records, as a text. No service uses them here.
    MOVED: () => String = b"smoved" "moved" .exported(false);
    /// The time of the last backup or export. A copy of the records has none itself.
    LAST_BACKUP_OR_EXPORT: () => Timestamp = b"slast export" "last_export" .exported(false);
    /// The last tokens in the mark of this service in its object store, the newest last.
    OBJECT_STORE_TOKENS: () => Vec<Uuid> = b"sobject store tokens" "object_store_tokens" .exported(false);
    /// The last test delivery per webhook.
    TEST_DELIVERIES: WebhookId => Timestamp = b"S" "test_delivery" .exported(false);
    ALARMS: () => Alarms = b"salarms" "alarms";
    /// The key that encrypts webhook secrets, itself encrypted under the nodes' shared secret, if nodes have shared this store.
    VAULT_KEY: () => SealedSecret = b"svault key" "vault_key";
}

/// The prefixes of the keys of all tables.
pub fn prefixes() -> impl Iterator<Item = &'static [u8]> {
    ALL.iter().map(|table| table.prefix())
}

/// The table of a stored key.
pub fn table_of(key: &[u8]) -> Option<&'static dyn AnyTable> {
    ALL.iter().find(|table| table.holds(key)).copied()
}

/// A key of no table of this version, as messages name it. Most keys of settings are words.
pub fn unknown_key(key: &[u8]) -> String {
    format!("{} (`{}`)", hex::encode(key), key.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::{ALL, prefixes};

    #[test]
    fn no_key_belongs_to_two_tables() {
        for (at, one) in prefixes().enumerate() {
            let others = prefixes().enumerate().filter(|(other, _)| *other != at);
            let holder = others.map(|it| it.1).find(|it| one.starts_with(it));
            assert_eq!(holder, None, "{}", one.escape_ascii());
        }
    }

    #[test]
    fn the_documentation_names_each_exported_kind() {
        let text = include_str!("../../../docs/backup.md");
        let missing: Vec<&str> = ALL
            .iter()
            .filter(|it| it.is_exported() && !text.contains(&format!("`{}`", it.name())))
            .map(|it| it.name())
            .collect();
        assert_eq!(missing, [""; 0]);
    }
}
