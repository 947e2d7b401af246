//! The typed keys of the one tree: a byte for the kind of record, then ids in the order of their bytes.

use super::idempotency::IdempotentCall;
use super::tallies::TallyPlace;
use crate::domain::api_key::KeyHash;
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, AuditId, JobId, KeyId, TransactionId};
use crate::domain::person::{Digest32, Email, PersonId};
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use crate::engine::Key;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// What a key's first byte says about the record under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Account = b'a',
    LiveJob = b'l',
    EndedJob = b'e',
    Idempotency = b'i',
    Ledger = b't',
    KeyByHash = b'h',
    KeyById = b'k',
    KeyOfAccount = b'o',
    KeySpent = b'u',
    Setting = b's',
    Webhook = b'w',
    WebhookAccount = b'W',
    Delivery = b'v',
    DeliveryAccount = b'V',
    DeliveryDue = b'q',
    Attempt = b'n',
    Audit = b'A',
    RetiredHash = b'r',
    KeyLastUse = b'y',
    Person = b'p',
    PersonByEmail = b'P',
    Session = b'z',
    Tally = b'd',
}

impl Kind {
    const ALL: [Self; 23] = [
        Self::Account,
        Self::LiveJob,
        Self::EndedJob,
        Self::Idempotency,
        Self::Ledger,
        Self::KeyByHash,
        Self::KeyById,
        Self::KeyOfAccount,
        Self::KeySpent,
        Self::Setting,
        Self::Webhook,
        Self::WebhookAccount,
        Self::Delivery,
        Self::DeliveryAccount,
        Self::DeliveryDue,
        Self::Attempt,
        Self::Audit,
        Self::RetiredHash,
        Self::KeyLastUse,
        Self::Person,
        Self::PersonByEmail,
        Self::Session,
        Self::Tally,
    ];

    /// The kind of a record, by its key.
    pub(crate) fn of(key: &[u8]) -> Option<Self> {
        let first = key.first()?;
        Self::ALL.into_iter().find(|kind| *kind as u8 == *first)
    }
}

fn key(kind: Kind, parts: &[&[u8]]) -> Key {
    let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    key.push(kind as u8);
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// The account record.
pub fn account(id: AccountId) -> Key {
    key(Kind::Account, &[id.as_bytes()])
}

/// All accounts.
pub fn accounts() -> Key {
    key(Kind::Account, &[])
}

/// A job that is not terminal. The account is part of the key: another account's job is simply not found.
pub fn live_job(account: AccountId, job: JobId) -> Key {
    key(Kind::LiveJob, &[account.as_bytes(), job.as_bytes()])
}

/// All live jobs: what a restart reads, whatever the length of the history.
pub fn live_jobs() -> Key {
    key(Kind::LiveJob, &[])
}

/// The live jobs of one account.
pub fn live_jobs_of(account: AccountId) -> Key {
    key(Kind::LiveJob, &[account.as_bytes()])
}

/// A terminal job.
pub fn ended_job(account: AccountId, job: JobId) -> Key {
    key(Kind::EndedJob, &[account.as_bytes(), job.as_bytes()])
}

/// The terminal jobs of one account.
pub fn ended_jobs_of(account: AccountId) -> Key {
    key(Kind::EndedJob, &[account.as_bytes()])
}

/// All terminal jobs.
pub fn ended_jobs() -> Key {
    key(Kind::EndedJob, &[])
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
        Kind::Idempotency,
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

/// Whose use of an idempotency key this is, in which call, and when it ends.
pub fn read_idempotency(key: &[u8]) -> Option<(AccountId, IdempotentCall, Timestamp)> {
    let rest = key.strip_prefix(&[Kind::Idempotency as u8])?;
    let (account, rest) = rest.split_first_chunk::<16>()?;
    let (scope, rest) = rest.split_first()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (_, end) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
    let call = match scope {
        b'g' => IdempotentCall::Generation,
        b'd' => IdempotentCall::Deposit,
        b'a' => IdempotentCall::Opening,
        _ => return None,
    };
    Some((
        AccountId(Uuid::from_bytes(*account)),
        call,
        Timestamp::from_millis(i64::from_be_bytes(end.try_into().ok()?)),
    ))
}

/// All idempotency records.
pub fn idempotency_records() -> Key {
    key(Kind::Idempotency, &[])
}

/// A ledger entry.
pub fn ledger_entry(account: AccountId, id: TransactionId) -> Key {
    key(Kind::Ledger, &[account.as_bytes(), id.as_bytes()])
}

/// All ledger entries, by account.
pub fn ledgers() -> Key {
    key(Kind::Ledger, &[])
}

/// The account in the key of a ledger entry.
pub fn account_of_entry(key: &[u8]) -> Option<AccountId> {
    let bytes = key.get(1..17)?.try_into().ok()?;
    Some(AccountId(Uuid::from_bytes(bytes)))
}

/// The ledger of an account.
pub fn ledger(account: AccountId) -> Key {
    key(Kind::Ledger, &[account.as_bytes()])
}

/// An API key by the hash of its text: the one look-up of authentication.
pub fn key_by_hash(hash: &KeyHash) -> Key {
    key(Kind::KeyByHash, &[&hash.0])
}

/// All API keys.
pub fn keys_by_hash() -> Key {
    key(Kind::KeyByHash, &[])
}

/// The hash of a key, by its id.
pub fn key_by_id(id: KeyId) -> Key {
    key(Kind::KeyById, &[id.as_bytes()])
}

/// The hash of a key, by its account.
pub fn key_of_account(account: AccountId, id: KeyId) -> Key {
    key(Kind::KeyOfAccount, &[account.as_bytes(), id.as_bytes()])
}

/// The keys of an account.
pub fn keys_of_account(account: AccountId) -> Key {
    key(Kind::KeyOfAccount, &[account.as_bytes()])
}

/// What a key has spent.
pub fn key_spent(id: KeyId) -> Key {
    key(Kind::KeySpent, &[id.as_bytes()])
}

/// What all keys have spent.
pub fn all_spent() -> Key {
    key(Kind::KeySpent, &[])
}

/// The key that a retired hash is of: the second look-up of authentication, where the first finds nothing.
pub fn retired_hash(hash: &KeyHash) -> Key {
    key(Kind::RetiredHash, &[&hash.0])
}

/// When a key was last used.
pub fn key_last_use(id: KeyId) -> Key {
    key(Kind::KeyLastUse, &[id.as_bytes()])
}

/// A line of the audit log.
pub fn audit_entry(id: AuditId) -> Key {
    key(Kind::Audit, &[id.as_bytes()])
}

/// The audit log, oldest first.
pub fn audit_log() -> Key {
    key(Kind::Audit, &[])
}

/// A setting of the service.
pub fn setting(name: &str) -> Key {
    key(Kind::Setting, &[name.as_bytes()])
}

/// A webhook of an account.
pub fn webhook(account: AccountId, id: WebhookId) -> Key {
    key(Kind::Webhook, &[account.as_bytes(), id.as_bytes()])
}

/// The webhooks of an account, oldest first.
pub fn webhooks_of(account: AccountId) -> Key {
    key(Kind::Webhook, &[account.as_bytes()])
}

/// All webhooks.
pub fn webhooks() -> Key {
    key(Kind::Webhook, &[])
}

/// Whose webhook this is.
pub fn webhook_account(id: WebhookId) -> Key {
    key(Kind::WebhookAccount, &[id.as_bytes()])
}

/// A delivery of an account.
pub fn delivery(account: AccountId, id: DeliveryId) -> Key {
    key(Kind::Delivery, &[account.as_bytes(), id.as_bytes()])
}

/// The deliveries of an account.
pub fn deliveries_of(account: AccountId) -> Key {
    key(Kind::Delivery, &[account.as_bytes()])
}

/// All deliveries.
pub fn deliveries() -> Key {
    key(Kind::Delivery, &[])
}

/// Whose delivery this is.
pub fn delivery_account(id: DeliveryId) -> Key {
    key(Kind::DeliveryAccount, &[id.as_bytes()])
}

/// All deliveries by id, without their records.
pub fn delivery_accounts() -> Key {
    key(Kind::DeliveryAccount, &[])
}

/// A pending delivery by the moment when it is due: the order of this index is the schedule.
pub fn delivery_due(due: Timestamp, id: DeliveryId) -> Key {
    // Moments are never negative, so their bytes sort as they do.
    key(
        Kind::DeliveryDue,
        &[&due.millis().to_be_bytes(), id.as_bytes()],
    )
}

/// All pending deliveries, the next one first.
pub fn due_deliveries() -> Key {
    key(Kind::DeliveryDue, &[])
}

/// The moment and the delivery of a key of the due index.
pub fn read_due(key: &[u8]) -> Option<(Timestamp, DeliveryId)> {
    let (millis, id) = key
        .strip_prefix(&[Kind::DeliveryDue as u8])?
        .split_at_checked(8)?;
    let millis = i64::from_be_bytes(millis.try_into().ok()?);
    Some((
        Timestamp::from_millis(millis),
        DeliveryId(Uuid::from_slice(id).ok()?),
    ))
}

/// An attempt of a delivery.
pub fn attempt(delivery: DeliveryId, number: u32) -> Key {
    key(Kind::Attempt, &[delivery.as_bytes(), &number.to_be_bytes()])
}

/// The attempts of a delivery, in their order.
pub fn attempts(delivery: DeliveryId) -> Key {
    key(Kind::Attempt, &[delivery.as_bytes()])
}

/// The attempts of all deliveries.
pub fn all_attempts() -> Key {
    key(Kind::Attempt, &[])
}

/// The delivery and the number of an attempt's key.
pub fn read_attempt(key: &[u8]) -> Option<(DeliveryId, u32)> {
    let (id, number) = key
        .strip_prefix(&[Kind::Attempt as u8])?
        .split_at_checked(16)?;
    Some((
        DeliveryId(Uuid::from_slice(id).ok()?),
        u32::from_be_bytes(number.try_into().ok()?),
    ))
}

/// A person of an account.
pub fn person(account: AccountId, id: PersonId) -> Key {
    key(Kind::Person, &[account.as_bytes(), id.as_bytes()])
}

/// The people of an account.
pub fn people_of(account: AccountId) -> Key {
    key(Kind::Person, &[account.as_bytes()])
}

/// All people.
pub fn people() -> Key {
    key(Kind::Person, &[])
}

/// Who has this e-mail address, by its hash: addresses have no bounded length that would suit a key.
fn person_by_email(email: &Digest32) -> Key {
    key(Kind::PersonByEmail, &[&email.0])
}

/// Where the person of an e-mail address is found.
pub fn person_of(email: &Email) -> Key {
    person_by_email(&Digest32(Sha256::digest(email.as_str().as_bytes()).into()))
}

/// A session of the panel, by the hash of its id.
pub fn session(id: &Digest32) -> Key {
    key(Kind::Session, &[&id.0])
}

/// All sessions.
pub fn sessions() -> Key {
    key(Kind::Session, &[])
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
    key(Kind::Tally, &[account.as_bytes(), &day.to_be_bytes()])
}

/// The tallies of an account, by day.
pub fn tallies_of(account: AccountId) -> Key {
    key(Kind::Tally, &[account.as_bytes()])
}

/// All tallies.
pub fn tallies() -> Key {
    key(Kind::Tally, &[])
}

/// What a tally's key says.
pub fn read_tally(key: &[u8]) -> Option<TallyPlace> {
    let (account, rest) = key
        .strip_prefix(&[Kind::Tally as u8])?
        .split_first_chunk::<16>()?;
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
