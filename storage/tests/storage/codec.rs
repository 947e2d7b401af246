//! Records on the disk: every one reads back, none that is damaged panics, and no version ever changes its bytes.

use crate::support::{amount, at, units, uuid};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RateLimit};
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::ids::{AccountId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{
    Brief, Callback, FailureKind, InputImage, Job, JobState, Origin, ResultImage, Words,
};
use tintype_storage::domain::ledger::{Books, EntryKind, LedgerEntry};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::{IdempotencyRecord, Record, StoreError, decode, encode};
use uuid::Uuid;

fn ids() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

fn moments() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(at)
}

fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (-999_999_999_999_999_999i64..=999_999_999_999_999_999).prop_map(units),
        Just(amount("999999999999999.999999")),
        Just(amount("-999999999999999.999999")),
        Just(Amount::ZERO),
    ]
}

fn words() -> impl Strategy<Value = String> {
    proptest::string::string_regex("(?s).{0,40}").expect("pattern")
}

fn any_of<T: Clone + Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

fn ratios() -> impl Strategy<Value = AspectRatio> {
    any_of(&AspectRatio::ALL)
}

fn aspects() -> impl Strategy<Value = AspectChoice> {
    prop_oneof![
        ratios().prop_map(AspectChoice::Fixed),
        Just(AspectChoice::Auto)
    ]
}

fn briefs() -> impl Strategy<Value = Brief> {
    let inline = (words(), option::of(words()))
        .prop_map(|(prompt, metadata)| Brief::Inline(Words { prompt, metadata }));
    prop_oneof![inline, words().prop_map(Brief::Stored)]
}

fn inputs() -> impl Strategy<Value = InputImage> {
    (words(), any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(key, bytes, width, height)| {
        InputImage {
            key,
            bytes,
            width,
            height,
        }
    })
}

fn failures() -> impl Strategy<Value = FailureKind> {
    proptest::sample::select(vec![
        FailureKind::Unrecorded,
        FailureKind::Refused,
        FailureKind::Blocked,
        FailureKind::Unavailable,
        FailureKind::TimedOut,
        FailureKind::Broken,
        FailureKind::Canceled,
        FailureKind::Interrupted,
    ])
}

fn states() -> impl Strategy<Value = JobState> {
    let done =
        (moments(), moments(), inputs()).prop_map(|(started_at, finished_at, it)| JobState::Done {
            started_at,
            finished_at,
            image: ResultImage {
                key: it.key,
                bytes: it.bytes,
                width: it.width,
                height: it.height,
            },
        });
    let failed = (option::of(moments()), moments(), words(), failures()).prop_map(
        |(started_at, finished_at, error, kind)| JobState::Failed {
            started_at,
            finished_at,
            error,
            kind,
        },
    );
    let processing = (moments(), any::<u32>())
        .prop_map(|(started_at, runs)| JobState::Processing { started_at, runs });
    prop_oneof![Just(JobState::Queued), processing, done, failed]
}

fn jobs() -> impl Strategy<Value = Job> {
    let names = (ids(), ids(), ids(), moments(), amounts());
    let shape = (
        any_of(Tier::ALL),
        any_of(Mode::ALL),
        aspects(),
        ratios(),
        any_of(Resolution::ALL),
    );
    let callback = option::of((ids(), words()).prop_map(|(id, url)| Callback {
        webhook: WebhookId(id),
        url,
    }));
    (
        names,
        shape,
        (briefs(), callback),
        vec(inputs(), 0..15),
        states(),
    )
        .prop_map(|(names, shape, (brief, callback), inputs, state)| Job {
            id: JobId(names.0),
            account: AccountId(names.1),
            key: KeyId(names.2),
            tier: shape.0,
            mode: shape.1,
            aspect: shape.2,
            ratio: shape.3,
            resolution: shape.4,
            brief,
            callback,
            origin: Origin::Native,
            inputs,
            price: names.4,
            created_at: names.3,
            state,
        })
}

fn accounts() -> impl Strategy<Value = Account> {
    let books = (amounts(), amounts(), amounts(), amounts());
    (ids(), words(), books, moments()).prop_map(|(id, name, books, created_at)| Account {
        id: AccountId(id),
        name,
        books: Books {
            balance: books.0,
            reserved: books.1,
            deposited: books.2,
            charged: books.3,
        },
        created_at,
    })
}

fn api_keys() -> impl Strategy<Value = ApiKey> {
    let rate = (any::<u32>(), any::<u32>())
        .prop_map(|(per_second, burst)| RateLimit { per_second, burst });
    let bounds = (
        option::of(moments()),
        option::of(amounts()),
        option::of(rate),
    );
    let models = option::of(vec(any_of(Tier::ALL), 0..4));
    (
        ids(),
        ids(),
        words(),
        models,
        any::<bool>(),
        bounds,
        moments(),
    )
        .prop_map(
            |(id, account, name, models, active, bounds, created_at)| ApiKey {
                id: KeyId(id),
                account: AccountId(account),
                name,
                models,
                active,
                expires_at: bounds.0,
                spend_limit: bounds.1,
                rate_limit: bounds.2,
                created_at,
            },
        )
}

const KINDS: &[EntryKind] = &[EntryKind::Deposit, EntryKind::Charge, EntryKind::Adjustment];

fn entries() -> impl Strategy<Value = LedgerEntry> {
    let money = (amounts(), amounts());
    (
        ids(),
        any_of(KINDS),
        money,
        option::of(ids()),
        option::of(words()),
        moments(),
    )
        .prop_map(
            |(id, kind, money, job, reference, created_at)| LedgerEntry {
                id: TransactionId(id),
                kind,
                amount: money.0,
                balance_after: money.1,
                job: job.map(JobId),
                reference,
                created_at,
            },
        )
}

fn uses() -> impl Strategy<Value = IdempotencyRecord> {
    (ids(), any::<[u8; 32]>(), moments()).prop_map(|(made, print, expires_at)| IdempotencyRecord {
        made,
        fingerprint: Fingerprint(print),
        expires_at,
    })
}

/// Reads back; and cut short or made longer it is damaged, whatever it holds.
fn survives<R: Record + PartialEq + Debug>(record: &R) -> Result<(), TestCaseError> {
    let bytes = encode(record);
    prop_assert_eq!(&decode::<R>(&bytes).expect("reads back"), record);
    for length in 0..bytes.len() {
        prop_assert!(is_damaged::<R>(&bytes[..length]), "cut to {}", length);
    }
    for trailing in [0, 1, 0xff] {
        prop_assert!(is_damaged::<R>(&[bytes.as_slice(), &[trailing]].concat()));
    }
    // A version below the one that is written has a reader of its own.
    for version in (0..=u8::MAX).filter(|version| !(1..=R::VERSION).contains(version)) {
        let other = [&[version], &bytes[1..]].concat();
        prop_assert!(is_damaged::<R>(&other), "version {}", version);
    }
    Ok(())
}

fn is_damaged<R: Record>(bytes: &[u8]) -> bool {
    matches!(decode::<R>(bytes), Err(StoreError::Damaged { kind, reason })
        if kind == R::NAME && !reason.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn jobs_read_back(record in jobs()) { survives(&record)?; }

    #[test]
    fn accounts_read_back(record in accounts()) { survives(&record)?; }

    #[test]
    fn api_keys_read_back(record in api_keys()) { survives(&record)?; }

    #[test]
    fn ledger_entries_read_back(record in entries()) { survives(&record)?; }

    #[test]
    fn idempotency_records_read_back(record in uses()) { survives(&record)?; }

    #[test]
    fn small_records_read_back(hash in any::<[u8; 32]>(), sum in amounts(), project in any::<bool>(), tiers in any::<[bool; 3]>()) {
        survives(&KeyHash(hash))?;
        survives(&sum)?;
        survives(&Pause { project, tiers })?;
    }

    /// Any bytes at all: read, or found damaged, but never a panic.
    #[test]
    fn hostile_80_garbage_is_found_damaged(mut bytes in vec(any::<u8>(), 0..200), known in 1u8..=2) {
        if let Some(version) = bytes.first_mut() {
            *version = known;
        }
        drop(decode::<Job>(&bytes).map(|it| it.ratio.pixels(it.tier, it.resolution)));
        drop(decode::<Account>(&bytes).map(|it| it.created_at.to_string()));
        drop(decode::<ApiKey>(&bytes));
        drop(decode::<LedgerEntry>(&bytes).map(|it| it.amount.to_string()));
        drop(decode::<IdempotencyRecord>(&bytes));
        drop(decode::<KeyHash>(&bytes));
        drop(decode::<Amount>(&bytes).map(|it| it.to_string()));
        drop(decode::<Pause>(&bytes));
    }
}

fn hex<R: Record>(record: &R) -> String {
    encode(record)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn job(tier: Tier, mode: Mode, resolution: Resolution, brief: Brief, state: JobState) -> Job {
    Job {
        id: JobId(uuid(0x11)),
        account: AccountId(uuid(0x22)),
        key: KeyId(uuid(0x33)),
        tier,
        mode,
        aspect: match mode {
            Mode::TextToImage => AspectChoice::Fixed(AspectRatio::SQUARE),
            Mode::ImageToImage => AspectChoice::Auto,
        },
        ratio: AspectRatio::ALL[8],
        resolution,
        brief,
        callback: Some(Callback {
            webhook: WebhookId(uuid(0x44)),
            url: "https://a/".into(),
        }),
        origin: Origin::Native,
        inputs: vec![InputImage {
            key: "in".into(),
            bytes: 300,
            width: 2,
            height: 3,
        }],
        price: amount("0.039"),
        created_at: at(1_000),
        state,
    }
}

/// A job in each state, the failed one with this kind of failure.
fn some_jobs(kind: FailureKind) -> [Job; 4] {
    let inline = Brief::Inline(Words {
        prompt: "a fox".into(),
        metadata: Some("{}".into()),
    });
    let stored = Brief::Stored("briefs/x".into());
    let image = ResultImage {
        key: "out".into(),
        bytes: 1_000,
        width: 1024,
        height: 1024,
    };
    let done = JobState::Done {
        started_at: at(2_000),
        finished_at: at(3_000),
        image,
    };
    let failed = JobState::Failed {
        started_at: None,
        finished_at: at(4_000),
        error: "no".into(),
        kind,
    };
    let processing = JobState::Processing {
        started_at: at(2_000),
        runs: 2,
    };
    let (text, images) = (Mode::TextToImage, Mode::ImageToImage);
    [
        job(Tier::Fast, text, Resolution::K1, inline, JobState::Queued),
        job(
            Tier::Quality,
            images,
            Resolution::K2,
            stored.clone(),
            processing,
        ),
        job(Tier::Pro, text, Resolution::K4, stored.clone(), done),
        job(Tier::Pro, text, Resolution::K4, stored, failed),
    ]
}

/// Jobs as version 1 wrote them, in hexadecimal: stores that hold them must be read for ever.
const JOBS_OF_VERSION_1: [&str; 4] = [
    "01100000000000000000000000000000001110000000000000000000000000000000221000000000000000000000000000000033000000010110090000056120666f7801027b7d0110000000000000000000000000000000440a68747470733a2f2f612f000102696eac020203b0e104d00f00",
    "0110000000000000000000000000000000111000000000000000000000000000000022100000000000000000000000000000003301010110090101086272696566732f780110000000000000000000000000000000440a68747470733a2f2f612f000102696eac020203b0e104d00f01a01f02",
    "01100000000000000000000000000000001110000000000000000000000000000000221000000000000000000000000000000033020000010110090201086272696566732f780110000000000000000000000000000000440a68747470733a2f2f612f000102696eac020203b0e104d00f02a01ff02e036f7574e80780088008",
    "01100000000000000000000000000000001110000000000000000000000000000000221000000000000000000000000000000033020000010110090201086272696566732f780110000000000000000000000000000000440a68747470733a2f2f612f000102696eac020203b0e104d00f0300c03e026e6f",
];

#[test]
fn jobs_of_version_1_are_read_as_ever() {
    let written = JOBS_OF_VERSION_1.map(bytes_of);
    let read = written.map(|bytes| decode::<Job>(&bytes).expect("reads back"));
    assert_eq!(read, some_jobs(FailureKind::Unrecorded));
    for text in JOBS_OF_VERSION_1 {
        let bytes = bytes_of(text);
        assert!((0..bytes.len()).all(|length| is_damaged::<Job>(&bytes[..length])));
        assert!(is_damaged::<Job>(&[&bytes[..], &[0]].concat()));
    }
}

#[test]
fn a_canceled_job_of_version_1_is_known_as_canceled() {
    // The last job, with the sentence `canceled` in place of `no`.
    let text = JOBS_OF_VERSION_1[3].replace("026e6f", "0863616e63656c6564");
    let job = decode::<Job>(&bytes_of(&text)).expect("reads back");
    assert!(matches!(
        job.state,
        JobState::Failed {
            kind: FailureKind::Canceled,
            ..
        }
    ));
}

fn bytes_of(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// One of each record as it is written, in hexadecimal. Where this changes, stores that exist can no longer be read: the record
/// needs a new version, and `decode` has to know both.
#[test]
fn records_are_written_as_ever() {
    let jobs = some_jobs(FailureKind::Refused);
    let account = Account {
        id: AccountId(uuid(0x22)),
        name: "acme".into(),
        books: Books {
            balance: amount("12.5"),
            reserved: amount("0.039"),
            deposited: amount("20"),
            charged: amount("7.5"),
        },
        created_at: at(1_795_000_000_001),
    };
    let api_key = ApiKey {
        id: KeyId(uuid(0x33)),
        account: AccountId(uuid(0x22)),
        name: "ci".into(),
        models: Some(vec![Tier::Fast, Tier::Pro]),
        active: true,
        expires_at: Some(at(5_000)),
        spend_limit: Some(amount("5")),
        rate_limit: Some(RateLimit {
            per_second: 5,
            burst: 10,
        }),
        created_at: at(1_000),
    };
    let entry = |kind| LedgerEntry {
        id: TransactionId(uuid(0x44)),
        kind,
        amount: amount("-0.039"),
        balance_after: amount("12.461"),
        job: Some(JobId(uuid(0x11))),
        reference: Some("invoice 7".into()),
        created_at: at(3_000),
    };
    let used = IdempotencyRecord {
        made: uuid(0x11),
        fingerprint: Fingerprint([0xab; 32]),
        expires_at: at(86_400_000),
    };
    let pause = Pause {
        project: false,
        tiers: [true, false, true],
    };
    let mut written: Vec<String> = jobs.iter().map(hex).collect();
    written.extend([hex(&account), hex(&api_key)]);
    written.extend(KINDS.iter().map(|kind| hex(&entry(*kind))));
    written.extend([hex(&used), hex(&pause), hex(&KeyHash([0xcd; 32]))]);
    written.extend(["0", "0.000001", "-1", "999999999999999.999999"].map(|it| hex(&amount(it))));
    insta::assert_snapshot!(written.join("\n"));
}
