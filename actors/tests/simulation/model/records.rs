//! The record changes of a commit, decoded from its raw keys and values.

use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::AuditEntry;
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::batch::{Batch, BatchProgress};
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId};
use tintype_storage::domain::ids::{AccountId, AuditId, BatchId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::spending::Spending;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::engine::{Key, Value};
use tintype_storage::store::tables::{
    ACCOUNTS, API_KEY_SPENDING, API_KEYS, API_KEYS_BY_ID, API_KEYS_OF_ACCOUNT, ATTEMPTS, AUDIT_LOG,
    BACKEND_PAUSES, BATCH_PROGRESS, BATCHES, DAILY_USAGE, DELIVERIES, DELIVERIES_FORGOTTEN,
    DELIVERY_ACCOUNTS, DUE_DELIVERIES, EXPIRIES, IDEMPOTENCY, JOBS_FORGOTTEN, LEDGER, LIVE_JOBS,
    PAUSE, RETIRED_API_KEYS, WEBHOOK_ACCOUNTS, WEBHOOKS,
};
use tintype_storage::store::{DueEntry, IdempotencyRecord, Record, Table, TableKey};
use uuid::Uuid;

/// One changed record; `None` if it is deleted.
#[derive(Debug)]
pub enum Change {
    Account(AccountId, Option<Account>),
    LiveJob(JobId, Option<Box<Job>>),
    /// A job's deadline for its start.
    Expiry(i64, JobId, Option<AccountId>),
    EndedJob(JobId, Option<Box<Job>>),
    Batch(AccountId, BatchId, Option<Batch>),
    Progress(AccountId, BatchId, Option<BatchProgress>),
    /// The record of a batch's file is deleted. No scenario writes one.
    NoFileBatch(BatchId),
    Line(AccountId, TransactionId, Option<LedgerEntry>),
    Spent(KeyId, Option<Spending>),
    /// Of an account's key, on a day.
    DailyUsage(AccountId, i64, KeyId, Option<DailyUsage>),
    Name(KeyUse, Option<IdempotencyRecord>),
    Webhook(WebhookId, Option<Webhook>),
    WebhookAccount(WebhookId, Option<AccountId>),
    /// The record of a webhook's last test delivery is deleted. No scenario writes one.
    NoTestDelivery(WebhookId),
    Delivery(DeliveryId, Option<Delivery>),
    DeliveryAccount(DeliveryId, Option<AccountId>),
    Due(i64, DeliveryId, Option<DueEntry>),
    Attempt(DeliveryId, u32, Option<Attempt>),
    Pause(Option<Pause>),
    BackendPauses(Option<BackendPauses>),
    /// By the hash of its text.
    Key([u8; 32], Option<ApiKey>),
    KeyById(KeyId, Option<KeyHash>),
    KeyOfAccount(AccountId, KeyId, Option<KeyHash>),
    /// The key of an earlier text.
    EarlierText([u8; 32], Option<KeyId>),
    LogLine(AuditId, Option<AuditEntry>),
    /// Deliveries that ended before this time were deleted, so a missing one is not lost.
    ForgottenBefore(i64),
    /// The same for jobs and batches.
    JobsForgottenBefore(i64),
}

/// A use of an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyUse {
    pub account: AccountId,
    /// `b's'` for a job or a batch, `b'd'` for a deposit.
    pub call: u8,
    pub name: String,
    pub expires_at: i64,
}

/// Parses the text that callers see.
pub fn millionths(amount: Amount) -> i64 {
    let text = amount.to_string();
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or((1, text.as_str()), |it| (-1, it));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number = |text: &str| text.parse::<i64>().expect("digits");
    sign * (number(whole) * 1_000_000 + number(&format!("{fraction:0<6}")))
}

pub fn amount(millionths: i64) -> Amount {
    let sign = if millionths < 0 { "-" } else { "" };
    let size = millionths.unsigned_abs();
    let text = format!("{sign}{}.{:06}", size / 1_000_000, size % 1_000_000);
    text.parse().expect("an amount")
}

fn id(bytes: &[u8]) -> Option<Uuid> {
    Uuid::from_slice(bytes).ok()
}

fn record<K: TableKey, R: Record>(table: &Table<K, R>, value: Option<&Value>) -> Option<Option<R>> {
    value
        .map(|bytes| table.decode(bytes).ok())
        .map_or(Some(None), |it| it.map(Some))
}

/// Decodes a record and checks that the ids inside match its key.
fn at_its_place<K: TableKey, R: Record>(
    table: &Table<K, R>,
    value: Option<&Value>,
    is: impl Fn(&R) -> bool,
) -> Option<Option<R>> {
    record(table, value).filter(|record| record.as_ref().is_none_or(is))
}

/// Reads a change; `None` if it cannot be decoded, or no actor of the simulation makes it.
pub fn read(key: &Key, value: Option<&Value>) -> Option<Change> {
    let (kind, rest) = key.split_first()?;
    Some(match kind {
        b'a' => Change::Account(AccountId(id(rest)?), record(&ACCOUNTS, value)?),
        b'l' | b'e' => {
            let (account, job) = (AccountId(id(rest.get(..16)?)?), JobId(id(rest.get(16..)?)?));
            let of = |it: &Job| (it.account, it.id) == (account, job);
            let record = at_its_place(&LIVE_JOBS, value, of)?.map(Box::new);
            match kind {
                b'l' => Change::LiveJob(job, record),
                _ => Change::EndedJob(job, record),
            }
        }
        b'x' => {
            let (due, job) = rest.split_at_checked(8)?;
            let due = i64::from_be_bytes(due.try_into().ok()?);
            Change::Expiry(due, JobId(id(job)?), record(&EXPIRIES, value)?)
        }
        b'b' => {
            let (account, batch) = (
                AccountId(id(rest.get(..16)?)?),
                BatchId(id(rest.get(16..)?)?),
            );
            let of = |it: &Batch| (it.account, it.id) == (account, batch);
            Change::Batch(account, batch, at_its_place(&BATCHES, value, of)?)
        }
        b'g' => {
            let (account, batch) = rest.split_at_checked(16)?;
            Change::Progress(
                AccountId(id(account)?),
                BatchId(id(batch)?),
                record(&BATCH_PROGRESS, value)?,
            )
        }
        b'B' if value.is_none() => Change::NoFileBatch(BatchId(id(rest.get(16..)?)?)),
        b't' => {
            let (account, line) = rest.split_at_checked(16)?;
            Change::Line(
                AccountId(id(account)?),
                TransactionId(id(line)?),
                record(&LEDGER, value)?,
            )
        }
        b'u' => Change::Spent(KeyId(id(rest)?), record(&API_KEY_SPENDING, value)?),
        b'd' => {
            let (account, rest) = rest.split_at_checked(16)?;
            let (day, key) = rest.split_at_checked(8)?;
            let day = i64::from_be_bytes(day.try_into().ok()?);
            Change::DailyUsage(
                AccountId(id(account)?),
                day,
                KeyId(id(key)?),
                record(&DAILY_USAGE, value)?,
            )
        }
        b'i' => {
            let (account, rest) = rest.split_at_checked(16)?;
            let (call, rest) = rest.split_first()?;
            let (length, rest) = rest.split_at_checked(8)?;
            let length = u64::from_be_bytes(length.try_into().ok()?);
            let (name, end) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            let used = KeyUse {
                account: AccountId(id(account)?),
                call: *call,
                name: String::from_utf8(name.to_vec()).ok()?,
                expires_at: i64::from_be_bytes(end.try_into().ok()?),
            };
            Change::Name(used, record(&IDEMPOTENCY, value)?)
        }
        b'w' => {
            let (account, webhook) = (id(rest.get(..16)?)?, WebhookId(id(rest.get(16..)?)?));
            let of = |it: &Webhook| (it.account.0, it.id) == (account, webhook);
            Change::Webhook(webhook, at_its_place(&WEBHOOKS, value, of)?)
        }
        b'S' if value.is_none() => Change::NoTestDelivery(WebhookId(id(rest)?)),
        b'W' => Change::WebhookAccount(WebhookId(id(rest)?), record(&WEBHOOK_ACCOUNTS, value)?),
        b'v' => {
            let (account, delivery) = (id(rest.get(..16)?)?, DeliveryId(id(rest.get(16..)?)?));
            let of = |it: &Delivery| (it.account.0, it.id) == (account, delivery);
            Change::Delivery(delivery, at_its_place(&DELIVERIES, value, of)?)
        }
        b'V' => Change::DeliveryAccount(DeliveryId(id(rest)?), record(&DELIVERY_ACCOUNTS, value)?),
        b'q' => {
            let (shard, rest) = rest.split_first()?;
            let (due, delivery) = rest.split_at_checked(8)?;
            let due = i64::from_be_bytes(due.try_into().ok()?);
            let delivery = DeliveryId(id(delivery)?);
            let of = |it: &DueEntry| {
                let place = (Shard::of(it.webhook).number(), it.due.millis(), it.id);
                place == (*shard, due, delivery)
            };
            Change::Due(due, delivery, at_its_place(&DUE_DELIVERIES, value, of)?)
        }
        b'n' => {
            let (delivery, number) = rest.split_at_checked(16)?;
            let number = u32::from_be_bytes(number.try_into().ok()?);
            Change::Attempt(DeliveryId(id(delivery)?), number, record(&ATTEMPTS, value)?)
        }
        b'h' => Change::Key(rest.try_into().ok()?, record(&API_KEYS, value)?),
        b'k' => Change::KeyById(KeyId(id(rest)?), record(&API_KEYS_BY_ID, value)?),
        b'o' => {
            let (account, key) = rest.split_at_checked(16)?;
            Change::KeyOfAccount(
                AccountId(id(account)?),
                KeyId(id(key)?),
                record(&API_KEYS_OF_ACCOUNT, value)?,
            )
        }
        b'r' => Change::EarlierText(rest.try_into().ok()?, record(&RETIRED_API_KEYS, value)?),
        b'A' => Change::LogLine(AuditId(id(rest)?), record(&AUDIT_LOG, value)?),
        b's' if rest == b"pause" => Change::Pause(record(&PAUSE, value)?),
        b's' if rest == b"backend pauses" => Change::BackendPauses(record(&BACKEND_PAUSES, value)?),
        b's' if rest == b"deliveries forgotten before" => {
            Change::ForgottenBefore(record(&DELIVERIES_FORGOTTEN, value)??.millis())
        }
        b's' if rest == b"jobs forgotten before" => {
            Change::JobsForgottenBefore(record(&JOBS_FORGOTTEN, value)??.millis())
        }
        _ => return None,
    })
}
