//! All tables, one line each: the key, the record, the prefix of the stored keys, the name in exports.

use super::migrations;
use super::records::{
    DailyUsageKey, DueDelivery, Generation, IdempotencyKey, IdempotencyRecord, Mark, PersonPlace,
};
use super::table::{AnyTable, Table};
use super::table_key::AccountText;
use crate::domain::account::Account;
use crate::domain::adoption::Adoption;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::audit_log::AuditEntry;
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

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident: $key:ty => $record:ty = $prefix:literal $name:literal $(.$with:ident($how:expr))*;)+) => {
        $($(#[$doc])* pub static $table: Table<$key, $record> = Table::<$key, $record>::new($prefix, $name)$(.$with($how))*;)+

        static ALL: &[&dyn AnyTable] = &[$(&$table),+];
    };
}

tables! {
    ACCOUNTS: AccountId => Account = b"a" "account" .fits(|id, it| it.id == *id) .earlier(migrations::ACCOUNT);
    /// Jobs that are not terminal. The account is part of the key, so another account's job is not found.
    LIVE_JOBS: (AccountId, JobId) => Job = b"l" "live_job" .fits(|key, it| (it.account, it.id) == *key) .earlier(migrations::JOB);
    ENDED_JOBS: (AccountId, JobId) => Job = b"e" "ended_job" .fits(|key, it| (it.account, it.id) == *key) .earlier(migrations::JOB);
    LEDGER: (AccountId, TransactionId) => LedgerEntry = b"t" "ledger_entry" .fits(|key, it| it.id == key.1);
    IDEMPOTENCY: IdempotencyKey => IdempotencyRecord = b"i" "idempotency_key" .fits(|key, it| it.expires_at == key.expires_at);
    /// The look-up of authentication.
    API_KEYS: KeyHash => ApiKey = b"h" "api_key" .earlier(migrations::API_KEY);
    API_KEYS_BY_ID: KeyId => KeyHash = b"k" "api_key_by_id";
    API_KEYS_OF_ACCOUNT: (AccountId, KeyId) => KeyHash = b"o" "api_key_of_account";
    /// What keys have spent, those that were removed included.
    API_KEY_SPENDING: KeyId => Spending = b"u" "api_key_spending";
    API_KEY_LAST_USE: KeyId => Timestamp = b"y" "api_key_last_use";
    /// Hashes of texts that a rotation replaced: the second look-up of authentication.
    RETIRED_API_KEYS: KeyHash => KeyId = b"r" "api_key_earlier_text";
    WEBHOOKS: (AccountId, WebhookId) => Webhook = b"w" "webhook" .fits(|key, it| (it.account, it.id) == *key) .earlier(migrations::WEBHOOK);
    WEBHOOK_ACCOUNTS: WebhookId => AccountId = b"W" "webhook_account";
    DELIVERIES: (AccountId, DeliveryId) => Delivery = b"v" "delivery" .fits(|key, it| (it.account, it.id) == *key);
    DELIVERY_ACCOUNTS: DeliveryId => AccountId = b"V" "delivery_account";
    /// Pending deliveries by the moment at which they are due.
    DUE_DELIVERIES: (Timestamp, DeliveryId) => DueDelivery = b"q" "delivery_due";
    ATTEMPTS: (DeliveryId, u32) => Attempt = b"n" "attempt";
    /// What the deliveries to the operator tell of.
    OPERATOR_EVENTS: DeliveryId => OperatorEvent = b"E" "operator_event";
    AUDIT_LOG: AuditId => AuditEntry = b"A" "audit_entry";
    PEOPLE: (AccountId, PersonId) => Person = b"p" "person" .fits(|key, it| (it.account, it.id) == *key);
    /// By the SHA-256 of the address: addresses have no length that would suit a key.
    PEOPLE_BY_EMAIL: Digest32 => PersonPlace = b"P" "person_by_email";
    SESSIONS: Digest32 => Session = b"z" "session";
    /// Jobs that fail if they are still queued at a moment.
    EXPIRIES: (Timestamp, JobId) => AccountId = b"x" "job_expiry";
    BATCHES: (AccountId, BatchId) => Batch = b"b" "batch" .fits(|key, it| (it.account, it.id) == *key);
    BATCH_PROGRESS: (AccountId, BatchId) => BatchProgress = b"g" "batch_progress";
    UPLOADED_FILES: (AccountId, FileId) => UploadedFile = b"f" "uploaded_file" .fits(|key, it| (it.account, it.id) == *key);
    /// Batches that were submitted as files: those that were accepted have a record of the batch too, under the same id.
    FILE_BATCHES: (AccountId, BatchId) => FileBatch = b"B" "file_batch" .fits(|key, it| (it.account, it.id) == *key);
    /// Jobs whose pictures retention leaves alone, with the moment from which on.
    FAVOURITES: (AccountId, JobId) => Timestamp = b"F" "favourite";
    /// The look-up of retention, which knows a picture by its job alone.
    FAVOURITE_ACCOUNTS: JobId => AccountId = b"G" "favourite_account";
    /// Blocks of the search index, by the last of their jobs.
    SEARCH_INDEX: (AccountId, JobId) => SearchBlock = b"c" "search_block" .fits(|key, it| it.first <= key.1);
    DAILY_USAGE: DailyUsageKey => DailyUsage = b"d" "tally" .earlier(migrations::DAILY_USAGE);
    /// What is live of each account, where several nodes share the store.
    ACCOUNT_LOADS: AccountId => AccountLoad = b"m" "account_load" .exported(false);
    /// Jobs that wait for a node, where several share the store.
    QUEUE: QueueEntry => AccountId = b"j" "queue_place" .exported(false);
    /// The turns that a tier's queue has served.
    SERVED_TURNS: Tier => Turns = b"T" "served_turns" .exported(false);
    NODES: NodeId => Node = b"N" "node" .exported(false);
    /// Jobs that nodes have taken from the queue.
    TAKEN_JOBS: (NodeId, JobId) => TakenJob = b"R" "taken_job" .exported(false);
    /// What one node at a time may do, where several share the store.
    LOCKS: LockName => Lock = b"K" "lock" .exported(false);
    /// Pending deliveries by the shard of their receivers and the moment at which they are due, where several nodes share the store.
    DUE_BY_SHARD: (Shard, (Timestamp, DeliveryId)) => DueDelivery = b"Q" "delivery_due_of_shard" .exported(false);
    /// Which node sends to the receivers of a shard.
    SHARD_HOLDERS: Shard => ShardHolder = b"D" "shard_holder" .exported(false);
    /// Which node has the connection on which the caller of a synchronous job waits.
    WAITING_CALLERS: JobId => WaitingCaller = b"C" "waiting_caller" .exported(false);
    /// What nodes have admitted lately, in parts.
    RATE_COUNTS: (NodeId, u32) => RateCounts = b"X" "rate_counts" .exported(false);
    /// How far the records of a process that had the store for itself have become those of nodes.
    ADOPTION: () => Adoption = b"sadoption" "adoption" .exported(false);
    /// Which node has how many places of the back ends that nodes share.
    SHARED_SLOTS: () => SharedSlots = b"sshared places" "shared_places" .exported(false);
    PAUSE: () => Pause = b"spause" "pause";
    OPERATOR_SESSIONS: () => Generation = b"soperator sessions" "operator_sessions";
    /// Up to which moment deliveries have been removed: verification distinguishes a removed delivery from a lost one with it.
    DELIVERIES_FORGOTTEN: () => Timestamp = b"sdeliveries forgotten before" "deliveries_forgotten";
    /// The service has had a first key: an operator who removes all keys wants no other.
    FIRST_KEY: () => Mark = b"sfirst key" "first_key";
    /// The records of a database are being loaded from elsewhere: they are not complete.
    UNFINISHED: () => Mark = b"sunfinished" "unfinished" .exported(false);
    /// The moment of the last export. A copy of the records has not been exported itself.
    LAST_EXPORT: () => Timestamp = b"slast export" "last_export" .exported(false);
    /// When a webhook was last sent a test delivery.
    TEST_DELIVERIES: WebhookId => Timestamp = b"S" "test_delivery" .exported(false);
    ALARMS: () => Alarms = b"salarms" "alarms";
    /// The key that pictures of the panel are charged under.
    PANEL_KEYS: AccountText => KeyId = b"spanel key of " "panel_key";
    /// The key that the secrets of webhooks are sealed under, itself sealed under the secret that the nodes have in common.
    VAULT_KEY: () => SealedSecret = b"svault key" "vault_key";
}

/// The table that a stored key is of.
pub fn table_of(key: &[u8]) -> Option<&'static dyn AnyTable> {
    ALL.iter().find(|table| table.holds(key)).copied()
}
