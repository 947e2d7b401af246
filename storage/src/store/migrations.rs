//! Earlier record formats and their conversion to the current ones.

use super::codec::Earlier;
use crate::domain::account::Account;
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, RateLimit, RetiredHash};
use crate::domain::aspect_ratio::{AspectChoice, AspectRatio};
use crate::domain::canonical::Encoding;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::ids::{AccountId, JobId, KeyId};
use crate::domain::job::{
    Callback, FailureKind, InputImage, Job, JobState, Origin, PromptRef, ResultImage,
};
use crate::domain::ledger::Balances;
use crate::domain::tier::{Mode, Resolution, Tier};
use crate::domain::time::Timestamp;
use crate::domain::webhook::{RetiredSecret, SealedSecret, Webhook, WebhookId};
use ipnet::IpNet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(super) const ACCOUNT: Earlier<Account> = &[
    (1, upgrade::<AccountV1, Account>),
    (2, upgrade::<AccountV2, Account>),
];
pub(super) const API_KEY: Earlier<ApiKey> = &[(1, upgrade::<ApiKeyV1, ApiKey>)];
pub(super) const DAILY_USAGE: Earlier<DailyUsage> = &[(1, upgrade::<DailyUsageV1, DailyUsage>)];
pub(super) const JOB: Earlier<Job> = &[(1, upgrade::<JobV1, Job>)];
pub(super) const WEBHOOK: Earlier<Webhook> = &[(1, upgrade::<WebhookV1, Webhook>)];

fn upgrade<E: DeserializeOwned + Into<R>, R>(bytes: &[u8]) -> postcard::Result<(R, &[u8])> {
    postcard::take_from_bytes::<E>(bytes).map(|(record, rest)| (record.into(), rest))
}

/// Before the low-balance warning.
#[derive(Deserialize, Serialize)]
pub struct AccountV1 {
    pub id: AccountId,
    pub name: String,
    pub balances: Balances,
    pub created_at: Timestamp,
    pub active: bool,
}

impl From<AccountV1> for Account {
    fn from(account: AccountV1) -> Self {
        Self {
            balances: account.balances,
            active: account.active,
            ..Self::new(account.id, account.name, account.created_at)
        }
    }
}

/// Before limits.
#[derive(Deserialize, Serialize)]
pub struct AccountV2 {
    pub id: AccountId,
    pub name: String,
    pub balances: Balances,
    pub created_at: Timestamp,
    pub active: bool,
    pub low_balance: Option<Amount>,
}

impl From<AccountV2> for Account {
    fn from(account: AccountV2) -> Self {
        Self {
            balances: account.balances,
            active: account.active,
            low_balance: account.low_balance,
            ..Self::new(account.id, account.name, account.created_at)
        }
    }
}

/// Before the text prefix and the limit of live jobs.
#[derive(Deserialize, Serialize)]
pub struct ApiKeyV1 {
    pub id: KeyId,
    pub account: AccountId,
    pub name: String,
    pub models: Option<Vec<Tier>>,
    pub active: bool,
    pub expires_at: Option<Timestamp>,
    pub spend_limit: Option<Amount>,
    pub spend_limit_daily: Option<Amount>,
    pub spend_limit_monthly: Option<Amount>,
    pub rate_limit: Option<RateLimit>,
    pub allowed_ips: Vec<IpNet>,
    pub retired: Vec<RetiredHash>,
    pub created_at: Timestamp,
}

impl From<ApiKeyV1> for ApiKey {
    fn from(key: ApiKeyV1) -> Self {
        Self {
            name: key.name,
            models: key.models,
            active: key.active,
            expires_at: key.expires_at,
            spend_limit: key.spend_limit,
            spend_limit_daily: key.spend_limit_daily,
            spend_limit_monthly: key.spend_limit_monthly,
            rate_limit: key.rate_limit,
            allowed_ips: key.allowed_ips,
            retired: key.retired,
            ..Self::with_all_rights(key.id, key.account, key.created_at)
        }
    }
}

/// Before usage was counted by model.
#[derive(Deserialize, Serialize)]
pub struct DailyUsageV1 {
    pub done: u64,
    pub failed: u64,
    pub spent: Amount,
}

impl From<DailyUsageV1> for DailyUsage {
    fn from(usage: DailyUsageV1) -> Self {
        Self {
            done: usage.done,
            failed: usage.failed,
            spent: usage.spent,
            models: Vec::new(),
        }
    }
}

/// Before results named their backend.
#[derive(Deserialize, Serialize)]
pub struct JobV1 {
    pub id: JobId,
    pub account: AccountId,
    pub key: KeyId,
    pub tier: Tier,
    pub mode: Mode,
    pub aspect: AspectChoice,
    pub ratio: AspectRatio,
    pub resolution: Resolution,
    pub prompt: PromptRef,
    pub callback: Option<Callback>,
    pub origin: Origin,
    pub inputs: Vec<InputImage>,
    pub price: Amount,
    pub created_at: Timestamp,
    pub state: JobStateV1,
}

#[derive(Deserialize, Serialize)]
pub enum JobStateV1 {
    Queued,
    Processing {
        started_at: Timestamp,
        runs: u32,
    },
    Done {
        started_at: Timestamp,
        finished_at: Timestamp,
        image: ResultImageV1,
    },
    Failed {
        started_at: Option<Timestamp>,
        finished_at: Timestamp,
        error: String,
        kind: FailureKind,
    },
}

#[derive(Deserialize, Serialize)]
pub struct ResultImageV1 {
    pub key: String,
    pub bytes: u64,
    pub width: u32,
    pub height: u32,
}

impl From<JobV1> for Job {
    fn from(job: JobV1) -> Self {
        Self {
            id: job.id,
            account: job.account,
            key: job.key,
            tier: job.tier,
            mode: job.mode,
            aspect: job.aspect,
            ratio: job.ratio,
            resolution: job.resolution,
            prompt: job.prompt,
            callback: job.callback,
            origin: job.origin,
            inputs: job.inputs,
            price: job.price,
            created_at: job.created_at,
            state: job.state.into(),
        }
    }
}

impl From<JobStateV1> for JobState {
    fn from(state: JobStateV1) -> Self {
        match state {
            JobStateV1::Queued => Self::Queued,
            JobStateV1::Processing { started_at, runs } => Self::Processing { started_at, runs },
            JobStateV1::Done {
                started_at,
                finished_at,
                image,
            } => Self::Done {
                started_at,
                finished_at,
                image: ResultImage {
                    key: image.key,
                    bytes: image.bytes,
                    width: image.width,
                    height: image.height,
                    backend: None,
                },
            },
            JobStateV1::Failed {
                started_at,
                finished_at,
                error,
                kind,
            } => Self::Failed {
                started_at,
                finished_at,
                error,
                kind,
            },
        }
    }
}

/// Before webhooks could be inactive.
#[derive(Deserialize, Serialize)]
pub struct WebhookV1 {
    pub id: WebhookId,
    pub account: AccountId,
    pub url: String,
    pub encoding: Encoding,
    pub secret: SealedSecret,
    pub retired: Vec<RetiredSecret>,
    pub created_at: Timestamp,
}

impl From<WebhookV1> for Webhook {
    fn from(webhook: WebhookV1) -> Self {
        Self {
            id: webhook.id,
            account: webhook.account,
            url: webhook.url,
            encoding: webhook.encoding,
            secret: webhook.secret,
            retired: webhook.retired,
            created_at: webhook.created_at,
            active: true,
        }
    }
}
