//! The typed keys of the one tree: a byte for the kind of record, then ids in the order of their bytes.

use super::idempotency::IdempotentCall;
use super::tallies::TallyPlace;
use crate::domain::api_key::KeyHash;
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, AuditId, JobId, KeyId, TransactionId};
use crate::domain::person::{Digest32, PersonId};
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use crate::engine::Key;
use uuid::Uuid;

const ACCOUNT: u8 = b'a';
const LIVE_JOB: u8 = b'l';
const ENDED_JOB: u8 = b'e';
const IDEMPOTENCY: u8 = b'i';
const LEDGER: u8 = b't';
const KEY_BY_HASH: u8 = b'h';
const KEY_BY_ID: u8 = b'k';
const KEY_OF_ACCOUNT: u8 = b'o';
const KEY_SPENT: u8 = b'u';
const SETTING: u8 = b's';
const WEBHOOK: u8 = b'w';
const WEBHOOK_ACCOUNT: u8 = b'W';
const DELIVERY: u8 = b'v';
const DELIVERY_ACCOUNT: u8 = b'V';
const DELIVERY_DUE: u8 = b'q';
const ATTEMPT: u8 = b'n';
const AUDIT: u8 = b'A';
const RETIRED_HASH: u8 = b'r';
const KEY_LAST_USE: u8 = b'y';
const PERSON: u8 = b'p';
const PERSON_BY_EMAIL: u8 = b'P';
const SESSION: u8 = b'z';
const TALLY: u8 = b'd';

fn key(kind: u8, parts: &[&[u8]]) -> Key {
    let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    key.push(kind);
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// The account record.
pub fn account(id: AccountId) -> Key {
    key(ACCOUNT, &[id.as_bytes()])
}

/// All accounts.
pub fn accounts() -> Key {
    key(ACCOUNT, &[])
}

/// A job that is not terminal. The account is part of the key: another account's job is simply not found.
pub fn live_job(account: AccountId, job: JobId) -> Key {
    key(LIVE_JOB, &[account.as_bytes(), job.as_bytes()])
}

/// All live jobs: what a restart reads, whatever the length of the history.
pub fn live_jobs() -> Key {
    key(LIVE_JOB, &[])
}

/// The live jobs of one account.
pub fn live_jobs_of(account: AccountId) -> Key {
    key(LIVE_JOB, &[account.as_bytes()])
}

/// A terminal job.
pub fn ended_job(account: AccountId, job: JobId) -> Key {
    key(ENDED_JOB, &[account.as_bytes(), job.as_bytes()])
}

/// The terminal jobs of one account.
pub fn ended_jobs_of(account: AccountId) -> Key {
    key(ENDED_JOB, &[account.as_bytes()])
}

/// All terminal jobs.
pub fn ended_jobs() -> Key {
    key(ENDED_JOB, &[])
}

/// All uses of an idempotency key of an account, oldest first: at most one of them has not expired.
pub fn idempotency_uses(call: IdempotentCall, account: AccountId, name: &str) -> Key {
    let scope = match call {
        IdempotentCall::Generation => b"g",
        IdempotentCall::Deposit => b"d",
        IdempotentCall::Opening => b"a",
    };
    // The length keeps the uses of one name from being those of another that begins with it.
    let length = (name.len() as u64).to_be_bytes();
    key(
        IDEMPOTENCY,
        &[account.as_bytes(), scope, &length, name.as_bytes()],
    )
}

/// One use of an idempotency key. The end is part of the key, so that whoever forgets an expired use can never hit the one
/// that has taken its place meanwhile.
pub fn idempotency_use(
    call: IdempotentCall,
    account: AccountId,
    name: &str,
    expires_at: Timestamp,
) -> Key {
    let mut key = idempotency_uses(call, account, name);
    // Moments are never negative, so their big-endian bytes sort as they do.
    key.extend_from_slice(&expires_at.millis().to_be_bytes());
    key
}

/// All idempotency records.
pub fn idempotency_records() -> Key {
    key(IDEMPOTENCY, &[])
}

/// A ledger entry.
pub fn ledger_entry(account: AccountId, id: TransactionId) -> Key {
    key(LEDGER, &[account.as_bytes(), id.as_bytes()])
}

/// All ledger entries, by account.
pub fn ledgers() -> Key {
    key(LEDGER, &[])
}

/// The account in the key of a ledger entry.
pub fn account_of_entry(key: &[u8]) -> Option<AccountId> {
    let bytes = key.get(1..17)?.try_into().ok()?;
    Some(AccountId(Uuid::from_bytes(bytes)))
}

/// The ledger of an account.
pub fn ledger(account: AccountId) -> Key {
    key(LEDGER, &[account.as_bytes()])
}

/// An API key by the hash of its text: the one look-up of authentication.
pub fn key_by_hash(hash: &KeyHash) -> Key {
    key(KEY_BY_HASH, &[&hash.0])
}

/// All API keys.
pub fn keys_by_hash() -> Key {
    key(KEY_BY_HASH, &[])
}

/// The hash of a key, by its id.
pub fn key_by_id(id: KeyId) -> Key {
    key(KEY_BY_ID, &[id.as_bytes()])
}

/// The hash of a key, by its account.
pub fn key_of_account(account: AccountId, id: KeyId) -> Key {
    key(KEY_OF_ACCOUNT, &[account.as_bytes(), id.as_bytes()])
}

/// The keys of an account.
pub fn keys_of_account(account: AccountId) -> Key {
    key(KEY_OF_ACCOUNT, &[account.as_bytes()])
}

/// What a key has spent.
pub fn key_spent(id: KeyId) -> Key {
    key(KEY_SPENT, &[id.as_bytes()])
}

/// The key that a retired hash is of: the second look-up of authentication, where the first finds nothing.
pub fn retired_hash(hash: &KeyHash) -> Key {
    key(RETIRED_HASH, &[&hash.0])
}

/// When a key was last used.
pub fn key_last_use(id: KeyId) -> Key {
    key(KEY_LAST_USE, &[id.as_bytes()])
}

/// A line of the audit log.
pub fn audit_entry(id: AuditId) -> Key {
    key(AUDIT, &[id.as_bytes()])
}

/// The audit log, oldest first.
pub fn audit_log() -> Key {
    key(AUDIT, &[])
}

/// A setting of the service.
pub fn setting(name: &str) -> Key {
    key(SETTING, &[name.as_bytes()])
}

/// A webhook of an account.
pub fn webhook(account: AccountId, id: WebhookId) -> Key {
    key(WEBHOOK, &[account.as_bytes(), id.as_bytes()])
}

/// The webhooks of an account, oldest first.
pub fn webhooks_of(account: AccountId) -> Key {
    key(WEBHOOK, &[account.as_bytes()])
}

/// All webhooks.
pub fn webhooks() -> Key {
    key(WEBHOOK, &[])
}

/// Whose webhook this is.
pub fn webhook_account(id: WebhookId) -> Key {
    key(WEBHOOK_ACCOUNT, &[id.as_bytes()])
}

/// A delivery of an account.
pub fn delivery(account: AccountId, id: DeliveryId) -> Key {
    key(DELIVERY, &[account.as_bytes(), id.as_bytes()])
}

/// The deliveries of an account.
pub fn deliveries_of(account: AccountId) -> Key {
    key(DELIVERY, &[account.as_bytes()])
}

/// All deliveries.
pub fn deliveries() -> Key {
    key(DELIVERY, &[])
}

/// Whose delivery this is.
pub fn delivery_account(id: DeliveryId) -> Key {
    key(DELIVERY_ACCOUNT, &[id.as_bytes()])
}

/// All deliveries by id, without their records.
pub fn delivery_accounts() -> Key {
    key(DELIVERY_ACCOUNT, &[])
}

/// A pending delivery by the moment when it is due: the order of this index is the schedule.
pub fn delivery_due(due: Timestamp, id: DeliveryId) -> Key {
    // Moments are never negative, so their bytes sort as they do.
    key(DELIVERY_DUE, &[&due.millis().to_be_bytes(), id.as_bytes()])
}

/// All pending deliveries, the next one first.
pub fn due_deliveries() -> Key {
    key(DELIVERY_DUE, &[])
}

/// The moment and the delivery of a key of the due index.
pub fn read_due(key: &[u8]) -> Option<(Timestamp, DeliveryId)> {
    let (millis, id) = key.strip_prefix(&[DELIVERY_DUE])?.split_at_checked(8)?;
    let millis = i64::from_be_bytes(millis.try_into().ok()?);
    Some((
        Timestamp::from_millis(millis),
        DeliveryId(Uuid::from_slice(id).ok()?),
    ))
}

/// An attempt of a delivery.
pub fn attempt(delivery: DeliveryId, number: u32) -> Key {
    key(ATTEMPT, &[delivery.as_bytes(), &number.to_be_bytes()])
}

/// The attempts of a delivery, in their order.
pub fn attempts(delivery: DeliveryId) -> Key {
    key(ATTEMPT, &[delivery.as_bytes()])
}

/// The attempts of all deliveries.
pub fn all_attempts() -> Key {
    key(ATTEMPT, &[])
}

/// The delivery and the number of an attempt's key.
pub fn read_attempt(key: &[u8]) -> Option<(DeliveryId, u32)> {
    let (id, number) = key.strip_prefix(&[ATTEMPT])?.split_at_checked(16)?;
    Some((
        DeliveryId(Uuid::from_slice(id).ok()?),
        u32::from_be_bytes(number.try_into().ok()?),
    ))
}

/// A person of an account.
pub fn person(account: AccountId, id: PersonId) -> Key {
    key(PERSON, &[account.as_bytes(), id.as_bytes()])
}

/// The people of an account.
pub fn people_of(account: AccountId) -> Key {
    key(PERSON, &[account.as_bytes()])
}

/// All people.
pub fn people() -> Key {
    key(PERSON, &[])
}

/// Who has this e-mail address, by its hash: addresses have no bounded length that would suit a key.
pub fn person_by_email(email: &Digest32) -> Key {
    key(PERSON_BY_EMAIL, &[&email.0])
}

/// A session of the panel, by the hash of its id.
pub fn session(id: &Digest32) -> Key {
    key(SESSION, &[&id.0])
}

/// All sessions.
pub fn sessions() -> Key {
    key(SESSION, &[])
}

/// What a key's jobs came to on a day.
pub fn tally(place: TallyPlace) -> Key {
    let mut key = tallies_of_day(place.account, place.day);
    key.extend_from_slice(place.key.as_bytes());
    key
}

/// The tallies of an account on a day.
pub fn tallies_of_day(account: AccountId, day: i64) -> Key {
    // Days are never negative, so their bytes sort as they do.
    key(TALLY, &[account.as_bytes(), &day.to_be_bytes()])
}

/// The tallies of an account, by day.
pub fn tallies_of(account: AccountId) -> Key {
    key(TALLY, &[account.as_bytes()])
}

/// All tallies.
pub fn tallies() -> Key {
    key(TALLY, &[])
}

/// What a tally's key says.
pub fn read_tally(key: &[u8]) -> Option<TallyPlace> {
    let (account, rest) = key.strip_prefix(&[TALLY])?.split_first_chunk::<16>()?;
    let (day, key) = rest.split_first_chunk::<8>()?;
    Some(TallyPlace {
        account: AccountId(Uuid::from_bytes(*account)),
        day: i64::from_be_bytes(*day),
        key: KeyId(Uuid::from_slice(key).ok()?),
    })
}

/// The last 16 bytes of a key: the id of the record in a list.
pub fn last_id(key: &[u8]) -> Option<[u8; 16]> {
    key.get(key.len().checked_sub(16)?..)?.try_into().ok()
}
