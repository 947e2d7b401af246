//! Arbitrary records of every kind, for properties of all records.

use crate::support::{amount, at, units};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::account_limits::AccountLimits;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RateLimit, RetiredHash};
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry};
use tintype_storage::domain::backend_pauses::{BackendPause, BackendPauses};
use tintype_storage::domain::batch_member::{BatchMember, InputUrls};
use tintype_storage::domain::ids::{AccountId, AuditId, BatchId, JobId, KeyId, TransactionId};
use tintype_storage::domain::image_options::{Background, ImageOptions};
use tintype_storage::domain::job::{
    Callback, FailureKind, InputImage, Job, JobState, Origin, PromptRef, PromptText, ResultImage,
};
use tintype_storage::domain::ledger::{Balances, EntryKind, LedgerEntry};
use tintype_storage::domain::output_format::OutputFormat;
use tintype_storage::domain::pause::{Pause, PauseReasons};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::spending::Spending;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::{IdempotencyRecord, Made};
use uuid::Uuid;

pub fn ids() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid::from_u128)
}

pub fn moments() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(at)
}

pub fn amounts() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (-999_999_999_999_999_999i64..=999_999_999_999_999_999).prop_map(units),
        Just(amount("999999999999999.999999")),
        Just(amount("-999999999999999.999999")),
        Just(Amount::ZERO),
    ]
}

pub fn words() -> impl Strategy<Value = String> {
    proptest::string::string_regex("(?s).{0,40}").expect("pattern")
}

pub fn any_of<T: Clone + Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

pub fn ratios() -> impl Strategy<Value = AspectRatio> {
    any_of(&AspectRatio::ALL)
}

pub fn aspects() -> impl Strategy<Value = AspectChoice> {
    prop_oneof![
        ratios().prop_map(AspectChoice::Fixed),
        Just(AspectChoice::Auto)
    ]
}

pub fn briefs() -> impl Strategy<Value = PromptRef> {
    let inline = (words(), option::of(words()))
        .prop_map(|(prompt, metadata)| PromptRef::Inline(PromptText { prompt, metadata }));
    prop_oneof![inline, words().prop_map(PromptRef::Stored)]
}

pub fn inputs() -> impl Strategy<Value = InputImage> {
    (words(), any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(key, bytes, width, height)| {
        InputImage {
            key,
            bytes,
            width,
            height,
        }
    })
}

pub fn failures() -> impl Strategy<Value = FailureKind> {
    proptest::sample::select(vec![
        FailureKind::Refused,
        FailureKind::Blocked,
        FailureKind::Unavailable,
        FailureKind::TimedOut,
        FailureKind::Broken,
        FailureKind::Canceled,
        FailureKind::Interrupted,
    ])
}

pub fn states() -> impl Strategy<Value = JobState> {
    let done = (moments(), moments(), inputs(), option::of(words())).prop_map(
        |(started_at, finished_at, it, backend)| JobState::Done {
            started_at,
            finished_at,
            image: ResultImage {
                key: it.key,
                bytes: it.bytes,
                width: it.width,
                height: it.height,
                backend,
            },
        },
    );
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

fn origins() -> impl Strategy<Value = Origin> {
    let urls = prop_oneof![
        vec(words(), 0..4).prop_map(InputUrls::Inline),
        words().prop_map(InputUrls::Stored),
    ];
    let member = (ids(), any::<u32>(), option::of(words()), urls).prop_map(
        |(batch, index, custom_id, input_urls)| {
            Origin::Batch(Box::new(BatchMember {
                batch: BatchId(batch),
                index,
                custom_id,
                input_urls,
            }))
        },
    );
    let plain = [Origin::Native, Origin::Synchronous, Origin::Background].map(Just);
    let [native, synchronous, background] = plain;
    prop_oneof![native, synchronous, background, member]
}

fn image_options() -> impl Strategy<Value = ImageOptions> {
    let output = prop_oneof![
        Just(OutputFormat::Png),
        (0..=100u8).prop_map(|quality| OutputFormat::Jpeg { quality }),
        Just(OutputFormat::WebP),
    ];
    let background = any_of(&[Background::Opaque, Background::Transparent]);
    (option::of(output), any::<bool>(), option::of(background)).prop_map(
        |(output, has_mask, background)| ImageOptions {
            output,
            has_mask,
            background,
        },
    )
}

pub fn jobs() -> impl Strategy<Value = Job> {
    let names = (ids(), ids(), ids(), moments(), amounts());
    let shape = (
        any_of(&Tier::ALL),
        any_of(&Mode::ALL),
        aspects(),
        ratios(),
        any_of(&Resolution::ALL),
        origins(),
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
        (states(), option::of(image_options())),
    )
        .prop_map(
            |(names, shape, (prompt, callback), inputs, (state, options))| Job {
                id: JobId(names.0),
                account: AccountId(names.1),
                key: KeyId(names.2),
                tier: shape.0,
                mode: shape.1,
                aspect: shape.2,
                ratio: shape.3,
                resolution: shape.4,
                prompt,
                callback,
                origin: shape.5,
                inputs,
                price: names.4,
                created_at: names.3,
                state,
                options,
            },
        )
}

pub fn accounts() -> impl Strategy<Value = Account> {
    let books = (amounts(), amounts(), amounts(), amounts());
    let rest = (
        option::of(amounts()),
        account_limits(),
        option::of(spendings()),
    );
    (ids(), words(), books, moments(), any::<bool>(), rest).prop_map(
        |(id, name, books, created_at, active, (low_balance, limits, spending))| Account {
            id: AccountId(id),
            name,
            balances: Balances {
                balance: books.0,
                reserved: books.1,
                deposited: books.2,
                charged: books.3,
            },
            created_at,
            active,
            low_balance,
            limits,
            spending,
        },
    )
}

fn rates() -> impl Strategy<Value = Option<RateLimit>> {
    let rate = (any::<u32>(), any::<u32>());
    option::of(rate.prop_map(|(per_second, burst)| RateLimit { per_second, burst }))
}

fn account_limits() -> impl Strategy<Value = AccountLimits> {
    let amounts = [(); 2].map(|()| option::of(amounts()));
    (amounts, rates(), option::of(any::<u32>())).prop_map(
        |([spend_per_day, spend_per_month], rate_limit, max_concurrent)| AccountLimits {
            spend_per_day,
            spend_per_month,
            rate_limit,
            max_concurrent,
        },
    )
}

pub fn api_keys() -> impl Strategy<Value = ApiKey> {
    let limits = [(); 3].map(|()| option::of(amounts()));
    let bounds = (
        option::of(moments()),
        limits,
        rates(),
        option::of(any::<u32>()),
    );
    let range = any_of(&["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]);
    let retired = (any::<[u8; 32]>(), moments()).prop_map(|(hash, until)| RetiredHash {
        hash: KeyHash(hash),
        until,
    });
    let places = (
        vec(range.prop_map(|text| text.parse().unwrap()), 0..4),
        vec(retired, 0..3),
    );
    let models = option::of(vec(any_of(&Tier::ALL), 0..4));
    (
        ids(),
        ids(),
        (words(), words()),
        models,
        any::<bool>(),
        (bounds, places),
        moments(),
    )
        .prop_map(
            |(id, account, (name, text_prefix), models, active, (bounds, places), created_at)| {
                ApiKey {
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
                    text_prefix,
                    max_concurrent: bounds.3,
                }
            },
        )
}

pub const KINDS: &[EntryKind] = &[EntryKind::Deposit, EntryKind::Charge, EntryKind::Adjustment];

pub fn entries() -> impl Strategy<Value = LedgerEntry> {
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

pub fn audit_entries() -> impl Strategy<Value = AuditEntry> {
    let texts = vec(option::of(words()), 4);
    (
        ids(),
        moments(),
        option::of(ids()),
        any_of(&Action::ALL),
        option::of(ids()),
        texts,
    )
        .prop_map(|(id, at, actor, action, subject, mut texts)| AuditEntry {
            id: AuditId(id),
            at,
            actor: actor.map_or(Actor::Service, Actor::Person),
            action,
            account: subject.map(AccountId),
            subject,
            before: texts.remove(0),
            after: texts.remove(0),
            request: texts.remove(0),
            address: texts.remove(0),
        })
}

pub fn pauses() -> impl Strategy<Value = Pause> {
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

pub fn backend_pauses() -> impl Strategy<Value = BackendPauses> {
    let pauses = option::of(words()).prop_map(|reason| BackendPause { reason });
    btree_map(words(), pauses, 0..4).prop_map(|paused| BackendPauses { paused })
}

pub fn spendings() -> impl Strategy<Value = Spending> {
    (0i64..=999_999_999_999, moments())
        .prop_map(|(price, at)| Spending::default().charge(units(price), at).unwrap())
}

pub fn uses() -> impl Strategy<Value = IdempotencyRecord> {
    let made = prop_oneof![
        ids().prop_map(|id| Made::Job(JobId(id))),
        ids().prop_map(|id| Made::Batch(BatchId(id))),
        ids().prop_map(|id| Made::Entry(TransactionId(id))),
        ids().prop_map(|id| Made::Account(AccountId(id))),
    ];
    (made, any::<[u8; 32]>(), moments()).prop_map(|(made, print, expires_at)| IdempotencyRecord {
        made,
        fingerprint: Fingerprint(print),
        expires_at,
    })
}
