//! People and sessions: lookup, expiry, verification.

use crate::support::{at, uuid};
use std::sync::Arc;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Digest32, Email, Person, PersonId, Role, Session, Visitor};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::{PEOPLE, SESSIONS};
use tintype_storage::store::{Store, Writes};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;

const ADA: AccountId = AccountId(uuid::Uuid::from_u128(1));

fn store() -> Store {
    let store = Store::new(Arc::new(MemoryEngine::new()));
    let account = Account::new(ADA, "a".into(), at(0));
    write(&store, store.open_account(&account, None));
    store
}

fn write(store: &Store, writes: Writes) {
    commit_and_wait(store.engine().as_ref(), writes).unwrap();
}

fn person(account: AccountId, number: u128, email: &str) -> Person {
    Person {
        id: PersonId(uuid(number)),
        account,
        email: email.parse().unwrap(),
        role: Role::Owner,
        password: None,
        invitation: None,
        generation: 0,
        created_at: at(0),
    }
}

fn faults(store: &Store) -> Vec<String> {
    verify(store, |_| {}).unwrap().faults
}

#[test]
fn a_person_is_found_by_account_and_by_email_until_removed() {
    let store = store();
    let ada = person(ADA, 5, "ada@example.com");
    let email: Email = "ADA@example.com".parse().unwrap();
    write(&store, store.put_person(&ada));
    let found = |account| PEOPLE.get(&store, &(account, ada.id)).wait().unwrap();
    assert_eq!(found(ADA), Some(ada.clone()));
    assert_eq!(
        store.person_by_email(&email).wait().unwrap(),
        Some(ada.clone())
    );
    assert_eq!(found(AccountId(uuid(2))), None);
    assert_eq!(faults(&store), [""; 0]);
    write(&store, store.remove_person(&ada));
    assert_eq!(store.person_by_email(&email).wait().unwrap(), None);
    let left = PEOPLE.page(&store, &ADA, 10, None).wait().unwrap();
    assert!(left.items.is_empty());
}

#[test]
fn verification_names_orphaned_people_and_those_who_cannot_sign_in() {
    let store = store();
    let lost = person(AccountId(uuid(9)), 6, "lost@example.com");
    write(&store, store.put_person(&lost));
    let [fault] = faults(&store).try_into().unwrap();
    assert!(fault.contains("which does not exist"), "{fault}");
    write(&store, store.remove_person(&lost));
    // Two people with one address: only the later one is found by it.
    write(&store, store.put_person(&person(ADA, 7, "ada@example.com")));
    write(&store, store.put_person(&person(ADA, 8, "ada@example.com")));
    let [fault] = faults(&store).try_into().unwrap();
    assert!(
        fault.contains("is not found by their email address"),
        "{fault}"
    );
}

#[test]
fn expired_sessions_are_deleted_step_by_step() {
    let store = store();
    let session = |seen: i64| Session {
        visitor: Visitor::Operator(Digest32([0; 32])),
        generation: 0,
        created_at: at(0),
        seen_at: at(seen),
    };
    let idle = Session::IDLE.as_millis() as i64;
    for number in 0..25 {
        let id = Digest32([number; 32]);
        let seen = if number % 2 == 0 { 0 } else { 1 };
        write(&store, vec![SESSIONS.put(&id, &session(seen))]);
    }
    let mut cursor = Vec::new();
    loop {
        let step = SESSIONS.delete_where(&store, &cursor, 10, |it| !it.is_alive(at(idle)));
        let (writes, next) = step.wait().unwrap();
        write(&store, writes);
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    for number in 0..25 {
        let kept = SESSIONS.get(&store, &Digest32([number; 32])).wait();
        assert_eq!(kept.unwrap().is_some(), number % 2 == 1, "{number}");
    }
}
