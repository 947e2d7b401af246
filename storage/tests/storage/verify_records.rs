//! Verification reads every record of every kind: no record can be damaged, moved or lost unnoticed if it matters.

use crate::support::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RetiredHash};
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry};
use tintype_storage::domain::delivery::{self, Attempt, DeliveryId};
use tintype_storage::domain::ids::{AccountId, AuditId, JobId};
use tintype_storage::domain::job::{Callback, JobEvent};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::person::{Digest32, Person, PersonId, Role, Session, Visitor};
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Key, Value, commit_and_wait};
use tintype_storage::store::tables::{
    API_KEY_LAST_USE, API_KEYS_BY_ID, API_KEYS_OF_ACCOUNT, AUDIT_LOG, DELETED_IMAGES, EXPIRIES,
    FAVOURITE_ACCOUNTS, FIRST_KEY, OPERATOR_SESSIONS, PAUSE, PEOPLE_BY_EMAIL, RETIRED_API_KEYS,
    SESSIONS, WEBHOOK_ACCOUNTS,
};
use tintype_storage::store::{Deposit, Generation, Mark, NewJob, PersonRef, Store, Writes};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use tintype_storage::verify::verify;

type Image = BTreeMap<Key, Value>;

/// All kinds.
const KINDS: &[u8] = b"AFGVWPacdehiklnopqrstuvwyz";
/// Kinds whose loss is harmless: the records expire anyway, or do not exist yet.
const MAY_BE_GONE: &[u8] = b"Acisyz";
/// Kinds whose key only the holder of a secret can check (the key is the secret's hash), or that belong to a removed API key.
const MAY_BE_MOVED: &[u8] = b"yz";

/// A store with at least one record of each kind.
fn full() -> Image {
    let engine = Arc::new(MemoryEngine::new());
    let mut till = Till::open(engine.clone(), ACCOUNT, amount("50"));
    let store = till.store.clone();
    let commit = |writes: Writes| commit_and_wait(&*engine, writes).expect("commit");
    let hook = Webhook {
        id: WebhookId(uuid(0x40)),
        ..webhook()
    };
    commit(store.put_webhook(&hook));
    let (first, second) = (KeyHash([7; 32]), KeyHash([8; 32]));
    let mut api_key = ApiKey {
        name: "k".into(),
        ..ApiKey::with_all_rights(key(1), ACCOUNT, at(0))
    };
    commit(store.put_key(&first, &api_key));
    api_key.retired.push(RetiredHash {
        hash: first,
        until: at(9_000_000),
    });
    commit(store.rotate_key(&first, &second, &api_key, &[]));
    commit(vec![API_KEY_LAST_USE.put(&key(1), &at(5))]);
    let new = |name: &str| NewJob {
        callback: Some(Callback {
            webhook: hook.id,
            url: hook.url.clone(),
        }),
        idempotency: named(name, 1),
        ..new_job(amount("0.20"))
    };
    let jobs = ["a", "b", "c"].map(|name| till.accept(new(name)).expect("accept").job);
    // Enough words to fill a block of the search index.
    let words = (0..2_000).map(|word| word.to_string());
    let long = NewJob {
        prompt: samples::prompt(words.collect::<Vec<_>>().join(" ")),
        ..new_job(amount("0.20"))
    };
    let last = till.accept(long).expect("accept").job;
    let block = store.next_search_block(ACCOUNT, last.next()).wait();
    commit(block.expect("read").into_iter().collect());
    till.apply(jobs[0], begin()).expect("begin");
    till.apply(jobs[0], finish()).expect("finish");
    till.apply(jobs[1], JobEvent::Cancel).expect("cancel");
    let delivery = store.delivery(DeliveryId(jobs[0].0)).wait().expect("read");
    let delivery = delivery.expect("a delivery");
    let attempt = Attempt::responded(0, at(2_000_000), DAY, 200, b"", None);
    let after = delivery::record_attempt(&delivery, &attempt, attempt.ended_at(), &[]);
    commit(store.record_attempt(&delivery, &after, &attempt));
    till.deposit(Deposit {
        idempotency: named("money", 2),
        ..deposit(amount("1"))
    })
    .expect("deposit");
    let entry = AuditEntry {
        id: AuditId(uuid(0x50)),
        at: at(1),
        actor: Actor::Operator,
        action: Action::KeyChange,
        account: Some(ACCOUNT),
        subject: None,
        before: None,
        after: None,
        request: None,
        address: None,
    };
    commit(vec![AUDIT_LOG.put(&entry.id, &entry)]);
    let person = Person {
        id: PersonId(uuid(0x60)),
        account: ACCOUNT,
        email: "ada@example.com".parse().expect("an address"),
        role: Role::Owner,
        password: None,
        invitation: None,
        generation: 0,
        created_at: at(0),
    };
    commit(store.put_person(&person));
    let session = Session {
        visitor: Visitor::Person(ACCOUNT, person.id),
        generation: 0,
        created_at: at(0),
        seen_at: at(0),
    };
    commit(vec![SESSIONS.put(&Digest32([3; 32]), &session)]);
    commit(vec![PAUSE.put(&(), &Pause::default())]);
    commit(vec![OPERATOR_SESSIONS.put(&(), &Generation(2))]);
    commit(store.put_favourite(ACCOUNT, jobs[0], at(7)));
    commit(vec![FIRST_KEY.put(&(), &Mark)]);
    engine.image()
}

/// The faults that verification reports; an error counts as a fault.
fn faults(image: &Image) -> Vec<String> {
    let store = Store::new(Arc::new(MemoryEngine::from_image(image.clone())));
    match verify(&store, |_| {}) {
        Ok(report) => {
            assert_eq!(report.records, image.len() as u64);
            report.faults
        }
        Err(error) => vec![error.to_string()],
    }
}

/// The kinds for which a changed record causes no fault. Changes each record in turn.
fn each_without_a_fault(change: impl Fn(&mut Image, Key, Value)) -> BTreeSet<u8> {
    let whole = full();
    let kinds: BTreeSet<u8> = whole.keys().map(|key| key[0]).collect();
    assert_eq!(kinds, KINDS.iter().copied().collect(), "of each kind one");
    assert_eq!(faults(&whole), [""; 0]);
    let passes = |key: &Key| {
        let mut image = whole.clone();
        let value = image.remove(key).expect("a record");
        change(&mut image, key.clone(), value);
        faults(&image).is_empty()
    };
    whole
        .keys()
        .filter(|key| passes(key))
        .map(|key| key[0])
        .collect()
}

#[test]
fn every_unreadable_record_is_reported() {
    for junk in [&b""[..], b"\xff", b"\x01"] {
        let passes = each_without_a_fault(|image, key, _| drop(image.insert(key, junk.into())));
        // A mark consists only of its version.
        let marks = BTreeSet::from([b's']);
        assert_eq!(
            passes,
            if junk == b"\x01" {
                marks
            } else {
                BTreeSet::new()
            }
        );
    }
}

/// The advice to restore a backup would lose data.
#[test]
fn a_record_of_a_newer_format_is_reported_as_intact() {
    let text = |kind: u8| {
        let mut image = full();
        let (key, value) = image.iter_mut().find(|(key, _)| key[0] == kind).unwrap();
        value[0] = 200;
        let key = hex::encode(key);
        (key, faults(&image))
    };
    let newer = |kind: &str, newest: u8| {
        format!(
            "a newer version of Tintype wrote this {kind} record (format 200; this version reads formats up to {newest}); \
             run that version again: nothing is damaged"
        )
    };
    assert_eq!(text(b'l').1, [newer("live_job", 1)]);
    let (key, found) = text(b'y');
    let newer = newer("api_key_last_use", 1);
    assert_eq!(found, [format!("the record {key}: {newer}")]);
}

#[test]
fn records_under_a_wrong_key_are_reported_except_listed_kinds() {
    let passes = each_without_a_fault(|image, mut key, value| {
        *key.last_mut().expect("a key") ^= 1;
        image.insert(key, value);
    });
    assert_eq!(passes, MAY_BE_MOVED.iter().copied().collect());
    let passes = each_without_a_fault(|image, mut key, value| {
        key.push(0);
        image.insert(key, value);
    });
    assert_eq!(passes, BTreeSet::new());
}

#[test]
fn missing_records_are_reported_except_listed_kinds() {
    let passes = each_without_a_fault(|_, _, _| {});
    assert_eq!(passes, MAY_BE_GONE.iter().copied().collect());
}

#[test]
fn records_of_unknown_kinds_and_unknown_settings_are_reported() {
    let mut image = full();
    image.insert(b"?x".to_vec(), vec![1]);
    image.insert(b"sunknown".to_vec(), vec![1]);
    assert_eq!(
        faults(&image),
        [
            "the record 3f78 (`?x`) is of an unknown kind; a newer version of Tintype may have written it",
            "the record 73756e6b6e6f776e (`sunknown`) is of an unknown kind; a newer version of Tintype may have written it"
        ]
    );
}

/// A key that its account's list lacks is valid, but cannot be found and removed.
#[test]
fn records_missing_from_an_index_are_reported() {
    let sentence = |key: &[u8]| {
        let mut image = full();
        assert!(image.remove(key).is_some());
        faults(&image)
    };
    let filed = |kind: u8, parts: &[&[u8]]| [&[kind][..], &parts.concat()].concat();
    let key = key(1);
    assert_eq!(
        sentence(&filed(b'o', &[ACCOUNT.as_bytes(), key.as_bytes()])),
        [format!("key {key} is not in the list of account {ACCOUNT}")]
    );
    let lost = sentence(&filed(b'k', &[key.as_bytes()]));
    assert!(
        lost.contains(&format!("key {key} is not found by its id")),
        "{lost:?}"
    );
    let hook = WebhookId(uuid(0x40));
    assert_eq!(
        sentence(&filed(b'W', &[hook.as_bytes()])),
        [format!("webhook {hook} is not found by its id")]
    );
}

#[test]
fn each_index_entry_that_points_to_nothing_is_reported_alone() {
    let whole = full();
    let (hash, missing) = (KeyHash([8; 32]), JobId(uuid(0xbad)));
    let other = AccountId(uuid(0xdead));
    let missing_person = PersonRef {
        account: ACCOUNT,
        person: PersonId(uuid(0xbad)),
    };
    for (key, value) in [
        API_KEYS_BY_ID.put(&key(2), &hash),
        API_KEYS_OF_ACCOUNT.put(&(other, key(1)), &hash),
        API_KEYS_OF_ACCOUNT.put(&(ACCOUNT, key(2)), &hash),
        RETIRED_API_KEYS.put(&KeyHash([9; 32]), &key(1)),
        RETIRED_API_KEYS.put(&KeyHash([9; 32]), &key(2)),
        EXPIRIES.put(&(at(5), missing), &ACCOUNT),
        FAVOURITE_ACCOUNTS.put(&missing, &ACCOUNT),
        DELETED_IMAGES.put(&(ACCOUNT, missing), &at(5)),
        WEBHOOK_ACCOUNTS.put(&WebhookId(uuid(0xbad)), &ACCOUNT),
        PEOPLE_BY_EMAIL.put(&Digest32([4; 32]), &missing_person),
    ] {
        let mut image = whole.clone();
        let shown = hex::encode(&key);
        image.insert(key, value.expect("a record"));
        assert_eq!(
            faults(&image),
            [format!(
                "the index entry {shown} points to a record that does not exist or does not match"
            )]
        );
    }
}

#[test]
fn a_key_with_two_earlier_texts_is_sound() {
    let engine = Arc::new(MemoryEngine::from_image(full()));
    let store = Store::new(engine.clone());
    let (hash, mut found) = store.key(key(1)).wait().expect("read").expect("a key");
    found.retired.push(RetiredHash {
        hash,
        until: at(9_000_000),
    });
    let writes = store.rotate_key(&hash, &KeyHash([6; 32]), &found, &[]);
    commit_and_wait(&*engine, writes).expect("commit");
    assert_eq!(faults(&engine.image()), [""; 0]);
}

#[test]
fn the_blocks_of_several_accounts_in_the_search_index_are_sound() {
    let engine = Arc::new(MemoryEngine::new());
    let words = |from: usize| {
        let words = (from..from + 2_000).map(|word| word.to_string());
        words.collect::<Vec<_>>().join(" ")
    };
    // The ids of both accounts are the same.
    for account in [ACCOUNT, AccountId(uuid(0xacd))] {
        let mut till = Till::open(engine.clone(), account, amount("5"));
        let index = |till: &Till, job: JobId| {
            let block = till.store.next_search_block(account, job.next()).wait();
            let block = block.expect("read");
            assert!(block.is_some(), "the words fill a block");
            commit_and_wait(&*engine, block.into_iter().collect()).expect("commit");
        };
        for from in [0, 5_000] {
            let long = NewJob {
                prompt: samples::prompt(words(from)),
                ..new_job(amount("0.20"))
            };
            let job = till.accept(long).expect("accept").job;
            index(&till, job);
        }
        assert_eq!(till.faults(), [""; 0]);
    }
}

#[test]
fn an_idempotency_key_that_refers_to_nothing_is_reported() {
    let mut image = full();
    let other = AccountId(uuid(0xdead));
    let uses: Vec<Key> = image.keys().filter(|key| key[0] == b'i').cloned().collect();
    assert_eq!(uses.len(), 4);
    for key in uses {
        let value = image.remove(&key).expect("a record");
        let of_other = [&key[..1], other.as_bytes(), &key[17..]].concat();
        image.insert(of_other, value);
    }
    let found = faults(&image);
    assert_eq!(found.len(), 4, "{found:?}");
    let begins = format!("account {other}: an idempotency key refers to ");
    assert!(found.iter().all(|it| it.starts_with(&begins)), "{found:?}");
}

#[test]
fn the_spending_of_a_removed_key_is_checked_too() {
    let mut image = full();
    let (store, engine) = {
        let engine = Arc::new(MemoryEngine::from_image(image));
        (Store::new(engine.clone()), engine)
    };
    let (hash, found) = store.key(key(1)).wait().expect("read").expect("a key");
    commit_and_wait(&*engine, store.remove_key(&hash, &found, at(0))).expect("commit");
    image = engine.image();
    assert_eq!(faults(&image), [""; 0]);
    image.retain(|key, _| key[0] != b'u');
    assert_eq!(
        faults(&image),
        [format!(
            "key {} has spent 0.00 by its record, 0.20 by its jobs",
            key(1)
        )]
    );
}

#[test]
fn a_search_index_that_differs_from_the_prompts_is_reported() {
    let named = |image: &Image| {
        let found = faults(image);
        let begins = format!("the search index of account {ACCOUNT} differs from the prompts");
        assert!(found.iter().any(|it| it.starts_with(&begins)), "{found:?}");
    };
    // One missing and one extra word of a prompt.
    for (word, other) in [
        (&b"\n1999\n"[..], &b"\n199\n\n"[..]),
        (b"\n1999\n", b"\n199x\n"),
    ] {
        let mut image = full();
        let block = image.iter_mut().find(|(key, _)| key[0] == b'c');
        let value = block.expect("a block").1;
        let at = value.windows(word.len()).position(|it| it == word);
        let at = at.expect("the word");
        value[at..at + word.len()].copy_from_slice(other);
        named(&image);
    }
    // The index covers a job that does not exist.
    let mut image = full();
    let job = image.keys().rfind(|key| key[0] == b'l').cloned();
    image.remove(&job.expect("a job"));
    named(&image);
}
