//! Stored records: each one reads back, corrupt ones never panic, and no version changes its bytes.

use crate::any_record::*;
use crate::support::{amount, at, encode, uuid};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::account_limits::AccountLimits;
use tintype_storage::domain::api_key::{ApiKey, DeletedKey, KeyHash, RateLimit, RetiredHash};
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry};
use tintype_storage::domain::batch::BatchProgress;
use tintype_storage::domain::file_batch::{
    BatchEndpoint, DeletedResults, FileBatch, FileBatchTerms, Validation,
};
use tintype_storage::domain::ids::{
    AccountId, AuditId, BatchId, FileId, JobId, KeyId, TransactionId,
};
use tintype_storage::domain::image_options::{Background, ImageOptions};
use tintype_storage::domain::job::{
    Callback, FailureKind, InputImage, Job, JobState, Origin, PromptRef, PromptText, ResultImage,
};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::operator_event::{Alarms, EventSubject, OperatorEvent};
use tintype_storage::domain::output_format::OutputFormat;
use tintype_storage::domain::pause::{Pause, PauseReasons};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::spending::Spending;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::tables::{
    ACCOUNTS, ALARMS, API_KEY_LAST_USE, API_KEY_SPENDING, API_KEYS, API_KEYS_BY_ID, AUDIT_LOG,
    BACKEND_PAUSES, BATCH_PROGRESS, DELETED_API_KEYS, ENDED_JOBS, FILE_BATCHES, IDEMPOTENCY,
    LEDGER, LIVE_JOBS, OPERATOR_EVENTS, PAUSE, RETIRED_API_KEYS,
};
use tintype_storage::store::{
    AnyTable as _, IdempotencyRecord, Made, Record, StoreError, Table, TableKey,
};

/// Checks that a record reads back, and that it is corrupt when truncated or extended.
fn survives<K, R>(table: &Table<K, R>, record: &R) -> Result<(), TestCaseError>
where
    K: TableKey,
    R: Record + PartialEq + Debug,
{
    let is_damaged = |bytes: &[u8]| {
        matches!(table.decode(bytes), Err(StoreError::Damaged { kind, reason })
            if kind == table.name() && !reason.is_empty())
    };
    let bytes = table.encode(record);
    prop_assert_eq!(&table.decode(&bytes).expect("reads back"), record);
    for length in 0..bytes.len() {
        prop_assert!(is_damaged(&bytes[..length]), "cut to {}", length);
    }
    for trailing in [0, 1, 0xff] {
        prop_assert!(is_damaged(&[bytes.as_slice(), &[trailing]].concat()));
    }
    for version in (0..=u8::MAX).filter(|version| *version != bytes[0]) {
        let other = [&[version], &bytes[1..]].concat();
        match table.decode(&other) {
            Err(StoreError::NewerFormat { found, newest, .. }) => {
                prop_assert!(version == found && found > newest, "version {}", version);
            }
            _ => prop_assert!(is_damaged(&other), "version {}", version),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn jobs_read_back(record in jobs()) { survives(&LIVE_JOBS, &record)?; }

    #[test]
    fn jobs_read_in_place_as_they_are(record in jobs()) {
        let bytes = LIVE_JOBS.encode(&record);
        let read = |bytes: &[u8]| {
            LIVE_JOBS.decode_ref::<Job<&str>>(bytes).map(|it| serde_json::to_string(&it))
        };
        let json = read(&bytes).expect("readable").expect("JSON");
        prop_assert_eq!(json, serde_json::to_string(&record).expect("JSON"));
        let is_damaged = |bytes: &[u8]| matches!(read(bytes), Err(StoreError::Damaged { .. }));
        for length in 0..bytes.len() {
            prop_assert!(is_damaged(&bytes[..length]), "cut to {}", length);
        }
        prop_assert!(is_damaged(&[bytes.as_slice(), &[0]].concat()));
        prop_assert!(is_damaged(&[&[bytes[0] - 1], &bytes[1..]].concat()));
        let newer = read(&[&[bytes[0] + 1], &bytes[1..]].concat());
        let is_newer = matches!(newer, Err(StoreError::NewerFormat { .. }));
        prop_assert!(is_newer);
    }

    #[test]
    fn accounts_read_back(record in accounts()) { survives(&ACCOUNTS, &record)?; }

    #[test]
    fn api_keys_read_back(record in api_keys()) { survives(&API_KEYS, &record)?; }

    #[test]
    fn ledger_entries_read_back(record in entries()) { survives(&LEDGER, &record)?; }

    #[test]
    fn idempotency_records_read_back(record in uses()) { survives(&IDEMPOTENCY, &record)?; }

    #[test]
    fn audit_entries_read_back(record in audit_entries()) { survives(&AUDIT_LOG, &record)?; }

    #[test]
    fn switches_read_back(record in pauses(), backends in backend_pauses()) {
        survives(&PAUSE, &record)?;
        survives(&BACKEND_PAUSES, &backends)?;
    }

    #[test]
    fn spendings_read_back(record in spendings()) { survives(&API_KEY_SPENDING, &record)?; }

    #[test]
    fn small_records_read_back(hash in any::<[u8; 32]>(), moment in moments(), id in ids()) {
        survives(&API_KEYS_BY_ID, &KeyHash(hash))?;
        survives(&API_KEY_LAST_USE, &moment)?;
        survives(&RETIRED_API_KEYS, &KeyId(id))?;
    }

    /// Arbitrary bytes decode or are corrupt; they never panic.
    #[test]
    fn hostile_80_garbage_is_found_damaged(mut bytes in vec(any::<u8>(), 0..200), known in 0u8..=2) {
        if let Some(version) = bytes.first_mut() {
            *version = known;
        }
        drop(LIVE_JOBS.decode(&bytes).map(|it| it.ratio.pixels(it.tier, it.resolution)));
        drop(ACCOUNTS.decode(&bytes).map(|it| it.created_at.to_string()));
        drop(API_KEYS.decode(&bytes));
        drop(LEDGER.decode(&bytes).map(|it| it.amount.to_string()));
        drop(IDEMPOTENCY.decode(&bytes));
        drop(API_KEYS_BY_ID.decode(&bytes));
        drop(PAUSE.decode(&bytes));
        drop(BACKEND_PAUSES.decode(&bytes));
        drop(AUDIT_LOG.decode(&bytes).map(|it| it.at.to_string()));
        drop(API_KEY_SPENDING.decode(&bytes).map(|it| it.fault()));
    }
}

fn hex(stored: Vec<u8>) -> String {
    stored.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn job(tier: Tier, mode: Mode, resolution: Resolution, prompt: PromptRef, state: JobState) -> Job {
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
        prompt,
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
        options: None,
    }
}

/// A job in each state; the failed one with this kind of failure.
fn some_jobs(kind: FailureKind) -> [Job; 4] {
    let inline = PromptRef::Inline(PromptText {
        prompt: "a fox".into(),
        metadata: Some("{}".into()),
    });
    let stored = PromptRef::Stored("briefs/x".into());
    let image = ResultImage {
        key: "out".into(),
        bytes: 1_000,
        width: 1024,
        height: 1024,
        backend: Some("gpu".into()),
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

fn some_account() -> Account {
    Account {
        id: AccountId(uuid(0x22)),
        name: "acme".into(),
        balances: Balances {
            balance: amount("12.5"),
            reserved: amount("0.039"),
            deposited: amount("20"),
            charged: amount("7.5"),
        },
        created_at: at(1_795_000_000_001),
        active: true,
        low_balance: Some(amount("5")),
        limits: AccountLimits {
            spend_per_day: Some(amount("10")),
            spend_per_month: Some(amount("100")),
            rate_limit: Some(RateLimit {
                per_second: 5,
                burst: 10,
            }),
            max_concurrent: Some(3),
        },
        spending: Spending::of_days([(20_775, amount("7.5"))]).ok(),
    }
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
        text_prefix: "tt_2Wa7".into(),
        max_concurrent: Some(4),
    }
}

#[test]
fn a_field_of_a_newer_version_is_refused() {
    let [_, _, job, _] = some_jobs(FailureKind::Refused);
    let line = ENDED_JOBS.to_json(&ENDED_JOBS.encode(&job)).unwrap();
    for (known, unknown, path) in [
        ("{", "{\"tip\":\"0.01\",", "tip"),
        (
            "\"image\":{",
            "\"image\":{\"depth\":8,",
            "state.image.depth",
        ),
    ] {
        let newer = line.replacen(known, unknown, 1);
        let refused = ENDED_JOBS.parse_json(&newer).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "its record has the field `{path}`, which this version does not know; use the version that wrote the export"
            )
        );
    }
}

/// One of each record in hexadecimal. If this changes, existing stores become unreadable: the record needs a new format, and
/// its table must read both.
#[test]
fn the_encoding_of_records_is_unchanged() {
    let jobs = some_jobs(FailureKind::Refused);
    let entry = |kind| LedgerEntry {
        id: TransactionId(uuid(0x44)),
        kind,
        amount: amount("-0.039"),
        balance_after: amount("12.461"),
        job: Some(JobId(uuid(0x11))),
        reference: Some("invoice 7".into()),
        created_at: at(3_000),
    };
    let used = |made| IdempotencyRecord {
        made,
        fingerprint: Fingerprint([0xab; 32]),
        expires_at: at(86_400_000),
    };
    let uses = [
        Made::Job(JobId(uuid(0x11))),
        Made::Batch(BatchId(uuid(0x11))),
        Made::Entry(TransactionId(uuid(0x11))),
        Made::Account(AccountId(uuid(0x11))),
    ];
    let pause = Pause {
        project: false,
        tiers: [true, false, true],
        reasons: PauseReasons {
            project: None,
            tiers: [Some("repair".into()), None, None],
        },
    };
    let spending = Spending::default().charge(amount("0.039"), at(1_795_000_000_001));
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
    let mut written: Vec<String> = jobs.iter().map(|job| hex(LIVE_JOBS.encode(job))).collect();
    written.extend([
        hex(ACCOUNTS.encode(&some_account())),
        hex(API_KEYS.encode(&some_key())),
    ]);
    written.extend(KINDS.iter().map(|kind| hex(LEDGER.encode(&entry(*kind)))));
    written.extend(uses.map(|it| hex(IDEMPOTENCY.encode(&used(it)))));
    written.extend([
        hex(PAUSE.encode(&pause)),
        hex(API_KEYS_BY_ID.encode(&KeyHash([0xcd; 32]))),
    ]);
    written.extend([
        hex(API_KEY_SPENDING.encode(&spending.expect("spending"))),
        hex(AUDIT_LOG.encode(&audit)),
        hex(API_KEY_LAST_USE.encode(&at(1_000))),
        hex(RETIRED_API_KEYS.encode(&KeyId(uuid(0x33)))),
        hex(DELETED_API_KEYS.encode(&DeletedKey {
            name: "tour".into(),
            deleted_at: at(1_000),
        })),
    ]);
    let event = OperatorEvent {
        created_at: at(1_000),
        subject: EventSubject::BackendUp {
            backend: "builtin".into(),
            down_since: at(500),
        },
    };
    let alarms = Alarms {
        backends_down: BTreeMap::from([("builtin".into(), at(500))]),
        disk_low: Some(at(700)),
    };
    written.extend([
        hex(OPERATOR_EVENTS.encode(&event)),
        hex(ALARMS.encode(&alarms)),
    ]);
    let progress = BatchProgress {
        processing: 1,
        done: 3,
        failed: 2,
        charged: amount("0.117"),
        canceled_at: Some(at(1_000)),
        ..BatchProgress::of_new(4)
    };
    written.push(hex(BATCH_PROGRESS.encode(&progress)));
    let in_background = Job {
        origin: Origin::Background,
        options: Some(ImageOptions {
            output: Some(OutputFormat::Jpeg { quality: 80 }),
            has_mask: true,
            background: Some(Background::Transparent),
        }),
        ..jobs[0].clone()
    };
    let of_edits = FileBatch {
        id: BatchId(uuid(0x11)),
        account: AccountId(uuid(0x22)),
        key: KeyId(uuid(0x33)),
        terms: FileBatchTerms {
            input: FileId(uuid(0x44)),
            metadata: Some("{}".into()),
            results_lifetime_seconds: Some(7),
            as_urls: true,
            endpoint: BatchEndpoint::Edits,
        },
        created_at: at(0),
        outcome: Validation::Accepted {
            deleted: DeletedResults::default(),
        },
    };
    written.extend([
        hex(LIVE_JOBS.encode(&in_background)),
        hex(FILE_BATCHES.encode(&of_edits)),
    ]);
    written.extend(
        ["0", "0.000001", "-1", "999999999999999.999999"].map(|it| hex(encode(&amount(it)))),
    );
    insta::assert_snapshot!(written.join("\n"));
}
