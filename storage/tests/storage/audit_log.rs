//! The audit log and the lookup records of keys: listing, deletion of old entries, verification.

use crate::support::*;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RetiredHash};
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry};
use tintype_storage::domain::ids::{AccountId, AuditId};
use tintype_storage::domain::spending::Spending;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Key, Value, commit_and_wait};
use tintype_storage::store::tables::AUDIT_LOG;
use tintype_storage::store::{All, Write, Writes};

fn entry(number: u128, account: Option<AccountId>) -> AuditEntry {
    AuditEntry {
        id: AuditId(uuid(number)),
        at: at(number as i64),
        actor: Actor::Operator,
        action: Action::KeyChange,
        account,
        subject: None,
        before: Some("{}".into()),
        after: None,
        request: None,
        address: None,
    }
}

fn api_key(retired: &[(u8, i64)]) -> ApiKey {
    let retired = retired.iter().map(|(byte, until)| RetiredHash {
        hash: KeyHash([*byte; 32]),
        until: at(*until),
    });
    ApiKey {
        name: "k".into(),
        retired: retired.collect(),
        ..ApiKey::with_all_rights(key(1), ACCOUNT, at(0))
    }
}

fn add(entry: AuditEntry) -> Write {
    AUDIT_LOG.put(&entry.id, &entry)
}

fn write(till: &Till, writes: Writes) {
    commit_and_wait(&**till.store.engine(), writes).expect("commit");
}

fn filed(kind: u8, rest: &[u8], value: Option<Value>) -> (Key, Option<Value>) {
    ([&[kind], rest].concat(), value)
}

#[test]
fn old_entries_are_deleted_in_bounded_steps_also_behind_an_entry_of_a_clock_that_was_ahead() {
    let till = Till::with("1");
    let ahead = AuditEntry {
        at: at(1_000),
        ..entry(0, Some(ACCOUNT))
    };
    let lines = (1..=10).map(|number| entry(number, Some(ACCOUNT)));
    let lines = lines.chain([ahead]).map(add);
    write(&till, lines.collect());
    let numbers = || -> Vec<i64> {
        let page = AUDIT_LOG
            .page(&till.store, &All, 100, None)
            .wait()
            .expect("read");
        page.items.iter().map(|it| it.at.millis()).collect()
    };
    assert_eq!(numbers(), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1_000]);
    let forget = |cursor: &[u8]| {
        let forget = AUDIT_LOG.delete_where(&till.store, cursor, 5, |entry| entry.at < at(7));
        let (writes, next) = forget.wait().expect("writes");
        write(&till, writes);
        next
    };
    let cursor = forget(b"");
    assert_eq!(numbers(), [10, 9, 8, 7, 6, 5, 1_000]);
    let cursor = forget(&cursor);
    assert_eq!(numbers(), [10, 9, 8, 7, 1_000]);
    assert!(forget(&cursor).is_empty());
    assert_eq!(numbers(), [10, 9, 8, 7, 1_000]);
    till.check();
}

#[test]
fn a_misfiled_entry_and_one_of_a_missing_account_are_reported() {
    let till = Till::with("1");
    write(&till, vec![add(entry(1, None))]);
    till.check();
    let other = AccountId(uuid(0xdead));
    let misfiled = filed(b'A', uuid(3).as_bytes(), Some(encode(&entry(2, None))));
    write(&till, vec![add(entry(4, Some(other))), misfiled]);
    let expected = [
        format!("line {} of the audit log is found as {}", uuid(2), uuid(3)),
        format!(
            "line {} of the audit log is about account {other}, which does not exist",
            uuid(4)
        ),
    ];
    assert_eq!(till.faults(), expected);
}

#[test]
fn daily_spending_above_the_total_is_reported() {
    let mut till = Till::with("9");
    write(&till, till.store.put_key(&KeyHash([7; 32]), &api_key(&[])));
    let job = till.running("0.10");
    till.apply(job, finish()).expect("finish");
    till.check();
    let mut spending = Spending::default();
    for _ in 0..2 {
        spending = spending.charge(amount("0.10"), at(0)).expect("charge");
    }
    spending.total = amount("0.10");
    let record = filed(b'u', key(1).as_bytes(), Some(encode(&spending)));
    write(&till, vec![record]);
    let expected = "spent 0.20 in a day, 0.20 in its month and 0.10 in all";
    assert_eq!(till.faults(), [format!("key {} has {expected}", key(1))]);
    assert_ne!(spending.total, Amount::ZERO);
}

#[test]
fn a_rotated_key_is_found_by_its_old_text_until_that_text_expires() {
    let till = Till::with("1");
    let (old, new) = (KeyHash([1; 32]), KeyHash([2; 32]));
    write(&till, till.store.put_key(&old, &api_key(&[])));
    let opened = |hash: &KeyHash, now: i64| {
        let found = till
            .store
            .key_by_text_hash(hash, at(now))
            .wait()
            .expect("read");
        found.map(|(key, until)| (key.id, until.map(|it| it.millis())))
    };
    assert_eq!(opened(&old, 0), Some((key(1), None)));
    let (rotated, ended) = api_key(&[]).rotate(old, Some(at(10)), at(5));
    assert!(ended.is_empty());
    write(&till, till.store.rotate_key(&old, &new, &rotated, &ended));
    assert_eq!(opened(&new, 5), Some((key(1), None)));
    assert_eq!(opened(&old, 9), Some((key(1), Some(10))));
    assert_eq!(opened(&old, 10), None);
    till.check();
    let newest = KeyHash([3; 32]);
    let (again, ended) = rotated.rotate(new, None, at(6));
    assert_eq!((again.retired.len(), ended.as_slice()), (0, &[old][..]));
    write(&till, till.store.rotate_key(&new, &newest, &again, &ended));
    assert_eq!((opened(&old, 6), opened(&new, 6)), (None, None));
    assert_eq!(opened(&newest, 6), Some((key(1), None)));
    write(&till, till.store.remove_key(&newest, &again, at(6)));
    assert_eq!(opened(&newest, 6), None);
    let name = till.store.key_name(key(1)).wait().expect("read");
    assert!(name.is_some_and(|it| it.is_deleted && it.name == again.name));
    till.check();
}

#[test]
fn an_earlier_key_text_that_is_not_indexed_is_reported() {
    let till = Till::with("1");
    let key_with_old = api_key(&[(1, 10)]);
    write(&till, till.store.put_key(&KeyHash([2; 32]), &key_with_old));
    assert_eq!(
        till.faults(),
        [format!("an earlier value of key {} is not found", key(1))]
    );
}
