//! Records on the disk: every one reads back, none that is damaged panics, and no version ever changes its bytes.

use crate::support::{amount, at, units, uuid};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RateLimit, RetiredHash};
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry};
use tintype_storage::domain::ids::{AccountId, AuditId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{
    Brief, Callback, FailureKind, InputImage, Job, JobState, Origin, ResultImage, Words,
};
use tintype_storage::domain::ledger::{Books, EntryKind, LedgerEntry};
use tintype_storage::domain::pause::{Pause, PauseReasons};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::spending::KeySpending;
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
    let limits = [(); 3].map(|()| option::of(amounts()));
    let bounds = (option::of(moments()), limits, option::of(rate));
    let range = any_of(&["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]);
    let retired = (any::<[u8; 32]>(), moments()).prop_map(|(hash, until)| RetiredHash {
        hash: KeyHash(hash),
        until,
    });
    let places = (
        vec(range.prop_map(|text| text.parse().unwrap()), 0..4),
        vec(retired, 0..3),
    );
    let models = option::of(vec(any_of(Tier::ALL), 0..4));
    (
        ids(),
        ids(),
        words(),
        models,
        any::<bool>(),
        (bounds, places),
        moments(),
    )
        .prop_map(
            |(id, account, name, models, active, (bounds, places), created_at)| ApiKey {
                id: KeyId(id),
                account: AccountId(account),
                name,
                models,
                active,
                expires_at: bounds.0,
                spend_limit: bounds.1[0],
                spend_limit_daily: bounds.1[1],
                spend_limit_monthly: bounds.1[2],
                rate_limit: bounds.2,
                allowed_ips: places.0,
                retired: places.1,
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

fn audit_entries() -> impl Strategy<Value = AuditEntry> {
    let texts = vec(option::of(words()), 4);
    (
        ids(),
        moments(),
        any_of(Actor::ALL),
        any_of(Action::ALL),
        option::of(ids()),
        texts,
    )
        .prop_map(|(id, at, actor, action, subject, mut texts)| AuditEntry {
            id: AuditId(id),
            at,
            actor,
            action,
            account: subject.map(AccountId),
            subject,
            before: texts.remove(0),
            after: texts.remove(0),
            request: texts.remove(0),
            address: texts.remove(0),
        })
}

fn pauses() -> impl Strategy<Value = Pause> {
    let reasons = (option::of(words()), [(); 3].map(|()| option::of(words())));
    (any::<bool>(), any::<[bool; 3]>(), reasons).prop_map(|(project, tiers, reasons)| Pause {
        project,
        tiers,
        reasons: PauseReasons {
            project: reasons.0,
            tiers: reasons.1,
        },
    })
}

fn spendings() -> impl Strategy<Value = KeySpending> {
    (0i64..=999_999_999_999, moments())
        .prop_map(|(price, at)| KeySpending::default().charge(units(price), at).unwrap())
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
    fn audit_entries_read_back(record in audit_entries()) { survives(&record)?; }

    #[test]
    fn switches_read_back(record in pauses()) { survives(&record)?; }

    #[test]
    fn spendings_read_back(record in spendings()) { survives(&record)?; }

    #[test]
    fn small_records_read_back(hash in any::<[u8; 32]>(), sum in amounts(), moment in moments(), id in ids()) {
        survives(&KeyHash(hash))?;
        survives(&sum)?;
        survives(&moment)?;
        survives(&KeyId(id))?;
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
        drop(decode::<AuditEntry>(&bytes).map(|it| it.at.to_string()));
        drop(decode::<KeySpending>(&bytes).map(|it| it.fault()));
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

/// Key, switches and sum as version 1 wrote them.
const KEY_OF_VERSION_1: &str = "0110000000000000000000000000000000331000000000000000000000000000000022026369010200020101904e0180ade20401050ad00f";
const PAUSE_OF_VERSION_1: &str = "0100010001";
const SPENT_OF_VERSION_1: &str = "01feffffe9bbf1d6c9ebd801";

#[test]
fn keys_switches_and_sums_of_version_1_are_read_as_ever() {
    let plain = ApiKey {
        spend_limit_daily: None,
        spend_limit_monthly: None,
        allowed_ips: Vec::new(),
        retired: Vec::new(),
        ..some_key()
    };
    let key = decode::<ApiKey>(&bytes_of(KEY_OF_VERSION_1));
    assert_eq!(key.expect("reads back"), plain);
    let pause = decode::<Pause>(&bytes_of(PAUSE_OF_VERSION_1)).expect("reads back");
    assert_eq!((pause.project, pause.tiers), (false, [true, false, true]));
    assert_eq!(pause.reasons, PauseReasons::default());
    let spent = decode::<KeySpending>(&bytes_of(SPENT_OF_VERSION_1)).expect("reads back");
    assert_eq!(spent.total, amount("999999999999999.999999"));
    assert_eq!(spent.fault(), None);
}

fn bytes_of(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn some_key() -> ApiKey {
    ApiKey {
        id: KeyId(uuid(0x33)),
        account: AccountId(uuid(0x22)),
        name: "ci".into(),
        models: Some(vec![Tier::Fast, Tier::Pro]),
        active: true,
        expires_at: Some(at(5_000)),
        spend_limit: Some(amount("5")),
        spend_limit_daily: Some(amount("1")),
        spend_limit_monthly: Some(amount("3")),
        rate_limit: Some(RateLimit {
            per_second: 5,
            burst: 10,
        }),
        allowed_ips: vec![
            "10.0.0.0/8".parse().unwrap(),
            "2001:db8::/32".parse().unwrap(),
        ],
        retired: vec![RetiredHash {
            hash: KeyHash([0xee; 32]),
            until: at(9_000),
        }],
        created_at: at(1_000),
    }
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
        reasons: PauseReasons {
            project: None,
            tiers: [Some("repair".into()), None, None],
        },
    };
    let spending = KeySpending::default().charge(amount("0.039"), at(1_795_000_000_001));
    let audit = AuditEntry {
        id: AuditId(uuid(0x55)),
        at: at(1_000),
        actor: Actor::Operator,
        action: Action::PauseChange,
        account: Some(AccountId(uuid(0x22))),
        subject: Some(uuid(0x33)),
        before: Some("{}".into()),
        after: None,
        request: Some("r".into()),
        address: Some("::1".into()),
    };
    let mut written: Vec<String> = jobs.iter().map(hex).collect();
    written.extend([hex(&account), hex(&some_key())]);
    written.extend(KINDS.iter().map(|kind| hex(&entry(*kind))));
    written.extend([hex(&used), hex(&pause), hex(&KeyHash([0xcd; 32]))]);
    written.extend([
        hex(&spending.expect("spending")),
        hex(&audit),
        hex(&at(1_000)),
        hex(&KeyId(uuid(0x33))),
    ]);
    written.extend(["0", "0.000001", "-1", "999999999999999.999999"].map(|it| hex(&amount(it))));
    insta::assert_snapshot!(written.join("\n"));
}
