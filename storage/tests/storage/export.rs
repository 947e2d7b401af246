//! Export and import: every kind of record, byte for byte; a damaged export is never accepted as complete.

use crate::any_record::*;
use crate::support::{Random, Till, amount, at, begin, encode, fail, finish, named, new_job, uuid};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde::Serialize;
use std::convert::Infallible;
use std::io::BufReader;
use std::sync::Arc;
use tintype_storage::domain::api_key::KeyHash;
use tintype_storage::domain::daily_usage::{DailyUsage, ModelUsage, UsageTotals};
use tintype_storage::domain::delivery::{
    Attempt, Delivery, DeliveryId, DeliveryKind, DeliveryState, FailReason, SentRequest,
};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::person::{
    Digest32, Invitation, Person, PersonId, Role, Session, Visitor,
};
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::domain::webhook::{Encoding, RetiredSecret, SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::{Engine, Key, Value, commit_and_wait};
use tintype_storage::export::{MAX_LINE_BYTES, ReadError, Reader, WriteError, load, write};
use tintype_storage::store::tables::{DUE_DELIVERIES, LIVE_JOBS};
use tintype_storage::store::{DueEntry, Generation, Mark, PersonRef, Store};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;

/// Pairs of every kind, and several of each variable kind.
struct Rich {
    runner: TestRunner,
    random: Random,
    pairs: Vec<(Key, Option<Value>)>,
}

impl Rich {
    /// A record under a key of a prefix and `ids` bytes of ids.
    fn put<R: Serialize>(&mut self, prefix: u8, ids: usize, record: &R) {
        self.put_value(prefix, ids, encode(record));
    }

    fn put_value(&mut self, prefix: u8, ids: usize, value: Value) {
        let mut key = vec![prefix];
        key.extend((0..ids).map(|_| self.random.below(256) as u8));
        if prefix == b'i' {
            // The call, the length of the name, and the name.
            key[17..33].copy_from_slice(b"s\0\0\0\0\0\0\0\x07the key");
        }
        self.pairs.push((key, Some(value)));
    }

    fn put_any<R: Serialize>(&mut self, prefix: u8, ids: usize, any: impl Strategy<Value = R>) {
        for _ in 0..30 {
            let record = any.new_tree(&mut self.runner).expect("a record").current();
            self.put(prefix, ids, &record);
        }
    }

    fn put_jobs(&mut self, prefix: u8) {
        for _ in 0..30 {
            let job = jobs().new_tree(&mut self.runner).expect("a job").current();
            self.put_value(prefix, 32, LIVE_JOBS.encode(&job));
        }
    }
}

fn deliveries(rich: &mut Rich) {
    let states = [
        DeliveryState::Pending {
            due: at(i64::MAX),
            failures: u32::MAX,
        },
        DeliveryState::Delivered { at: at(0) },
        DeliveryState::Failed {
            reason: FailReason::WebhookMoved,
            at: at(7),
        },
    ];
    for state in states {
        let delivery = Delivery {
            id: DeliveryId(uuid(1)),
            account: AccountId(uuid(2)),
            webhook: WebhookId(uuid(3)),
            url: "https://a/\u{0}\u{7f}\u{2028}\"\\ü".into(),
            kind: DeliveryKind::Test,
            subject: uuid(4),
            created_at: at(5),
            attempts: 6,
            round: 7,
            state,
        };
        rich.put(b'v', 32, &delivery);
    }
    rich.put(b'V', 16, &AccountId(uuid(2)));
    let due = DueEntry {
        due: at(i64::MAX),
        id: DeliveryId(uuid(1)),
        account: AccountId(uuid(2)),
        webhook: WebhookId(uuid(3)),
        failures: u32::MAX,
    };
    rich.pairs.push(DUE_DELIVERIES.put(&due.key(), &due));
    let attempt = Attempt {
        round: 1,
        at: at(2),
        status_code: Some(299),
        error: Some("no \u{fffd} answer".into()),
        duration_ms: u64::MAX,
        response_body: "\r\n".into(),
        url: Some("http://b/".into()),
        sent: Some(SentRequest::new(
            "x".into(),
            "w".into(),
            "{\"a\":\"\u{1f98a}\"}",
        )),
    };
    rich.put(b'n', 20, &attempt);
    let secret = SealedSecret((0..=255).collect());
    let webhook = Webhook {
        id: WebhookId(uuid(3)),
        account: AccountId(uuid(2)),
        url: "https://a/".into(),
        encoding: Encoding::Utf8,
        secret: secret.clone(),
        retired: vec![RetiredSecret {
            secret,
            until: at(1),
        }],
        created_at: at(3),
        active: false,
    };
    rich.put(b'w', 32, &webhook);
    rich.put(b'W', 16, &AccountId(uuid(2)));
}

fn people(rich: &mut Rich) {
    let person = Person {
        id: PersonId(uuid(1)),
        account: AccountId(uuid(2)),
        email: "ada@example.com".parse().expect("an address"),
        role: Role::Viewer,
        password: Some("$argon2id$...".into()),
        invitation: Some(Invitation {
            secret: Digest32([255; 32]),
            expires_at: at(4),
        }),
        generation: 5,
        created_at: at(6),
    };
    rich.put(b'p', 32, &person);
    let place = PersonRef {
        account: AccountId(uuid(2)),
        person: PersonId(uuid(1)),
    };
    rich.put(b'P', 32, &place);
    let session = Session {
        visitor: Visitor::Operator(Digest32([9; 32])),
        generation: 1,
        created_at: at(2),
        seen_at: at(3),
    };
    rich.put(b'z', 32, &session);
}

/// A store with every kind of record.
fn rich() -> Arc<dyn Engine> {
    let mut rich = Rich {
        runner: TestRunner::deterministic(),
        random: Random(3),
        pairs: Vec::new(),
    };
    rich.put_any(b'a', 16, accounts());
    rich.put_jobs(b'l');
    rich.put_jobs(b'e');
    rich.put_any(b'i', 40, uses());
    rich.put_any(b't', 32, entries());
    rich.put_any(b'h', 32, api_keys());
    rich.put_any(b'k', 16, any::<[u8; 32]>().prop_map(KeyHash));
    rich.put_any(b'o', 32, any::<[u8; 32]>().prop_map(KeyHash));
    rich.put_any(b'u', 16, spendings());
    rich.put_any(b'y', 16, moments());
    rich.put_any(b'r', 32, ids().prop_map(KeyId));
    rich.put(b'L', 16, &KeyId(uuid(9)));
    rich.put_any(b'A', 16, audit_entries());
    deliveries(&mut rich);
    people(&mut rich);
    let usage = DailyUsage {
        models: vec![ModelUsage {
            tier: Tier::Pro,
            resolution: Resolution::K4,
            totals: UsageTotals {
                done: u64::MAX,
                failed: 1,
                spent: amount("0.000001"),
            },
        }],
    };
    rich.put(b'd', 40, &usage);
    let pause = pauses().new_tree(&mut rich.runner).expect("one").current();
    let backends = backend_pauses();
    let backends = backends.new_tree(&mut rich.runner).expect("one").current();
    let settings = [
        ("pause", encode(&pause)),
        ("backend pauses", encode(&backends)),
        ("operator sessions", encode(&Generation(7))),
        ("first key", encode(&Mark)),
        ("deliveries forgotten before", encode(&at(8))),
    ];
    for (name, value) in settings {
        let key = [b"s", name.as_bytes()].concat();
        rich.pairs.push((key, Some(value)));
    }
    let engine = MemoryEngine::new();
    commit_and_wait(&engine, rich.pairs).expect("commit");
    Arc::new(engine)
}

pub fn exported(engine: &Arc<dyn Engine>) -> Vec<u8> {
    let mut text = Vec::new();
    let snapshot = Arc::clone(engine).snapshot().expect("a snapshot");
    let sink = |block: Vec<u8>| {
        text.extend(block);
        Ok::<_, Infallible>(())
    };
    let records = write(snapshot, sink).expect("written");
    assert_eq!(
        text.iter().filter(|it| **it == b'\n').count() as u64,
        records + 2
    );
    text
}

pub fn imported(text: &[u8]) -> Result<Arc<dyn Engine>, ReadError> {
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    load(&*engine, BufReader::with_capacity(100, text), |_| {})?;
    Ok(engine)
}

fn refusal(text: &[u8]) -> String {
    imported(text).err().expect("refused").to_string()
}

fn all(engine: &Arc<dyn Engine>) -> Vec<(Key, Value)> {
    let mut snapshot = Arc::clone(engine).snapshot().expect("a snapshot");
    snapshot.next(usize::MAX).expect("all")
}

#[test]
fn every_kind_of_record_is_imported_unchanged_and_exported_identically() {
    let engine = rich();
    let text = exported(&engine);
    let copy = imported(&text).expect("imported");
    assert_eq!(all(&copy), all(&engine));
    assert_eq!(exported(&copy), text);
    let kinds: std::collections::BTreeSet<String> = String::from_utf8(text)
        .expect("text")
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["kind"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    // All of them: 22 by prefix, and four settings. An import builds the due index.
    assert_eq!(kinds.len(), 27, "{kinds:?}");
}

#[test]
fn the_ledger_of_an_imported_store_is_consistent() {
    let mut till = Till::with("100.00");
    for number in 0..30 {
        let mut new = new_job(amount("1.25"));
        new.idempotency = named(&format!("key {number}"), 1);
        let job = till.accept(new).expect("accept").job;
        if number % 3 > 0 {
            till.apply(job, begin()).expect("begin");
            till.apply(job, if number % 2 == 0 { finish() } else { fail() })
                .expect("end");
        }
    }
    let engine = Arc::clone(till.store.engine());
    let mut live = 0;
    let copy: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    let text = exported(&engine);
    let loaded = load(&*copy, &text[..], |entry| {
        live += u64::from(entry.kind == "live_job")
    });
    let loaded = loaded.expect("loaded");
    assert_eq!((loaded.live_jobs, live), (10, 10));
    assert_eq!(loaded.summary.bytes, text.len() as u64);
    assert_eq!(loaded.summary.records as usize, all(&engine).len());
    let store = Store::new(copy);
    assert_eq!(
        verify(&store, |_| {}).expect("audit").faults,
        Vec::<String>::new()
    );
    Till::reload(store, till.book.account().id).check();
}

/// The export with one changed line. The first line is 1.
fn with_line(text: &[u8], number: usize, change: impl Fn(&str) -> String) -> Vec<u8> {
    let text = std::str::from_utf8(text).expect("text");
    let lines = text.split_inclusive('\n').enumerate();
    let changed = lines.map(|(index, line)| match index + 1 == number {
        true => change(line),
        false => line.to_owned(),
    });
    changed.collect::<String>().into_bytes()
}

#[test]
fn an_export_truncated_anywhere_is_rejected() {
    let engine: Arc<dyn Engine> = Arc::clone(Till::with("5.00").store.engine());
    let text = exported(&engine);
    for length in 0..text.len() {
        let said = refusal(&text[..length]);
        assert!(said.starts_with("line "), "{length}: {said}");
    }
    imported(&text).expect("the whole");
}

#[test]
fn an_export_in_which_any_byte_was_changed_is_refused() {
    let engine: Arc<dyn Engine> = Arc::clone(Till::with("5.00").store.engine());
    let text = exported(&engine);
    for at in 0..text.len() {
        for bit in [0x01, 0x20, 0x80] {
            let mut damaged = text.clone();
            damaged[at] ^= bit;
            assert!(refusal(&damaged).starts_with("line "), "byte {at}");
        }
    }
}

#[test]
fn repeated_moved_missing_and_forged_lines_are_rejected_by_their_number() {
    let text = exported(&rich());
    let line = |number: usize| {
        let text = std::str::from_utf8(&text).expect("text");
        text.lines().nth(number - 1).expect("a line").to_owned()
    };
    let total = text.iter().filter(|it| **it == b'\n').count();
    let long = "x".repeat(MAX_LINE_BYTES);
    let cases = [
        (
            with_line(&text, 1, |_| "{\"a\":1}\n".into()),
            "line 1 of the export: this is not an export",
        ),
        (
            with_line(&text, 1, |it| it.replace(":1,", ":2,")),
            "line 1 of the export: it has format 2",
        ),
        (
            with_line(&text, 5, |it| format!("{it}{it}")),
            "line 6 of the export: it repeats the key",
        ),
        (
            with_line(&text, 5, |it| format!("{it}{}\n", line(3))),
            "line 6 of the export: its key comes before",
        ),
        (
            with_line(&text, 5, |_| String::new()),
            &format!("line {} of the export: it says", total - 1),
        ),
        (
            with_line(&text, 5, |it| it.replace("audit_entry", "account")),
            "line 5 of the export: no record of the kind account",
        ),
        (
            with_line(&text, 5, |it| it.replace("\"key\":\"41", "\"key\":\"7f")),
            "line 5 of the export: no record of the kind",
        ),
        (
            with_line(&text, 5, |it| it.replace("\"key\":\"41", "\"key\":\"4z")),
            "line 5 of the export: its key is not hex",
        ),
        (
            with_line(&text, 5, |it| {
                it.replace("\"record\":{", "\"record\":{\"at\":1,")
            }),
            "line 5 of the export: its record is not a valid audit_entry",
        ),
        (
            with_line(&text, 5, |it| {
                it.replace("\"record\":{", "\"record\":{\"reason\":\"\",")
            }),
            "line 5 of the export: its record has the field `reason`, which this version does not know",
        ),
        (
            with_line(&text, 5, |_| "{}\n".into()),
            "line 5 of the export: this is neither a record nor the last line",
        ),
        (
            with_line(&text, 5, |_| long.clone()),
            "line 5 of the export: it is longer than",
        ),
        (
            with_line(&text, 5, |_| "{\"given_up\":\"no room\"}\n".into()),
            "line 5 of the export: the export was not completed: no room",
        ),
        (
            with_line(&text, total, |it| format!("{it}\n")),
            &format!("line {total} of the export: more data follows"),
        ),
        (
            with_line(&text, total, |it| {
                it.replace("\"sha256\":\"", "\"sha256\":\"0")
            }),
            &format!("line {total} of the export: the checksum"),
        ),
        (Vec::new(), "line 1 of the export: it is empty"),
        (
            b"PK\x03\x04\n".to_vec(),
            "line 1 of the export: this is not an export",
        ),
    ];
    for (index, (text, expected)) in cases.iter().enumerate() {
        let said = refusal(text);
        assert!(said.starts_with(expected), "case {index}: {said}");
    }
}

#[test]
fn an_export_is_only_taken_into_an_empty_store() {
    let text = exported(&rich());
    let engine = imported(&text).expect("imported");
    let again = load(&*engine, &text[..], |_| {});
    assert!(matches!(again.err(), Some(ReadError::NotEmpty)));
}

#[test]
fn a_store_with_a_damaged_or_unknown_record_gives_no_complete_export() {
    for (key, version, words) in [
        ("spause", 0, "a damaged pause record"),
        ("spause", 99, "a newer version of Tintype wrote this pause"),
        ("snew", 1, "736e6577 (`snew`)"),
    ] {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        commit_and_wait(&*engine, vec![(key.into(), Some(vec![version]))]).expect("commit");
        let mut text = Vec::new();
        let snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
        let outcome = write(snapshot, |block| {
            text.extend(block);
            Ok::<_, Infallible>(())
        });
        let error = outcome.expect_err("no export").to_string();
        assert!(error.contains(words), "{error}");
        let said = refusal(&text);
        assert!(
            said.contains("the export was not completed") && said.contains(words),
            "{said}"
        );
    }
}

#[test]
fn an_error_of_the_sink_ends_the_export() {
    let snapshot = rich().snapshot().expect("a snapshot");
    let mut taken = 0;
    let outcome = write(snapshot, |_| {
        taken += 1;
        if taken > 1 { Err("gone") } else { Ok(()) }
    });
    assert!(matches!(outcome, Err(WriteError::Sink("gone"))));
    assert_eq!(taken, 2);
}

#[test]
fn a_reader_has_a_summary_only_at_the_end() {
    let text = exported(&rich());
    let mut reader = Reader::new(&text[..]).expect("an export");
    while reader.read().expect("a record").is_some() {}
    let summary = reader.summary().expect("the end");
    assert_eq!(summary.bytes, text.len() as u64);
    assert!(reader.read().expect("still the end").is_none());
    let mut begun = Reader::new(&text[..]).expect("an export");
    begun.read().expect("a record");
    assert_eq!(begun.summary(), None);
}
