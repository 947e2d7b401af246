//! A record as it lies on the disk. The first byte says of which kind; what is read can be written and read again, and what is
//! written is not taken for a record when it is cut short or goes on.

use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::AuditEntry;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::person::{Person, Session};
use tintype_storage::domain::spending::KeySpending;
use tintype_storage::domain::tally::Tally;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::{
    DueDelivery, Generation, IdempotencyRecord, Mark, PersonPlace, Record, StoreError, decode,
    encode,
};

macro_rules! kinds {
    ($($kind:ty),+ $(,)?) => {
        const KINDS: &[fn(&[u8])] = &[$(check::<$kind>),+];
    };
}

kinds!(
    Job,
    Account,
    ApiKey,
    LedgerEntry,
    IdempotencyRecord,
    Pause,
    KeyHash,
    KeySpending,
    AuditEntry,
    Timestamp,
    KeyId,
    Amount,
    Attempt,
    DueDelivery,
    Delivery,
    Webhook,
    Person,
    Session,
    PersonPlace,
    Generation,
    Mark,
    Tally,
    AccountId,
);

pub fn run(input: &[u8]) {
    if let Some((kind, bytes)) = input.split_first() {
        KINDS[usize::from(*kind) % KINDS.len()](bytes);
    }
}

fn check<R: Record>(bytes: &[u8]) {
    let record = match decode::<R>(bytes) {
        Ok(record) => record,
        Err(fault) => return damaged::<R>(fault),
    };
    let written = encode(&record);
    let read = decode::<R>(&written).expect("what was read can be written and read");
    assert_eq!(encode(&read), written);
    let cut = &written[..written.len() - 1];
    for other in [cut, &[written.as_slice(), &[0]].concat()] {
        match decode::<R>(other) {
            Ok(_) => panic!("a damaged {} is read", R::NAME),
            Err(fault) => damaged::<R>(fault),
        }
    }
}

fn damaged<R: Record>(fault: StoreError) {
    match fault {
        StoreError::Damaged { kind, reason } => {
            assert_eq!(kind, R::NAME);
            assert!(!reason.is_empty());
        }
        other => panic!("{other}"),
    }
}
