//! The first shapes of records that have changed since: an account, an API key, the switches, an entry of
//! the due index, an attempt.

use super::deliveries::DueDelivery;
use crate::domain::account::Account;
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, RateLimit};
use crate::domain::delivery::Attempt;
use crate::domain::ids::{AccountId, KeyId};
use crate::domain::ledger::Books;
use crate::domain::pause::{Pause, PauseReasons};
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use serde::Deserialize;

/// An account as version 1 wrote it: one that could not be switched off.
#[derive(Deserialize)]
pub struct AccountV1 {
    id: AccountId,
    name: String,
    books: Books,
    created_at: Timestamp,
}

impl From<AccountV1> for Account {
    fn from(account: AccountV1) -> Self {
        Self {
            id: account.id,
            name: account.name,
            books: account.books,
            created_at: account.created_at,
            active: true,
        }
    }
}

/// An API key as version 1 wrote it: one limit, for its whole life, and one text.
#[derive(Deserialize)]
pub struct ApiKeyV1 {
    id: KeyId,
    account: AccountId,
    name: String,
    models: Option<Vec<Tier>>,
    active: bool,
    expires_at: Option<Timestamp>,
    spend_limit: Option<Amount>,
    rate_limit: Option<RateLimit>,
    created_at: Timestamp,
}

impl From<ApiKeyV1> for ApiKey {
    fn from(key: ApiKeyV1) -> Self {
        Self {
            id: key.id,
            account: key.account,
            name: key.name,
            models: key.models,
            active: key.active,
            expires_at: key.expires_at,
            spend_limit: key.spend_limit,
            spend_limit_daily: None,
            spend_limit_monthly: None,
            rate_limit: key.rate_limit,
            allowed_ips: Vec::new(),
            retired: Vec::new(),
            created_at: key.created_at,
        }
    }
}

/// The switches as version 1 wrote them: without reasons.
#[derive(Deserialize)]
pub struct PauseV1 {
    project: bool,
    tiers: [bool; 3],
}

impl From<PauseV1> for Pause {
    fn from(pause: PauseV1) -> Self {
        Self {
            project: pause.project,
            tiers: pause.tiers,
            reasons: PauseReasons::default(),
        }
    }
}

/// An entry of the due index as version 1 wrote it: without failures.
#[derive(Deserialize)]
pub struct DueDeliveryV1 {
    account: AccountId,
    webhook: WebhookId,
}

impl From<DueDeliveryV1> for DueDelivery {
    fn from(entry: DueDeliveryV1) -> Self {
        Self {
            account: entry.account,
            webhook: entry.webhook,
            failures: 0,
        }
    }
}

/// An attempt as version 1 wrote it: without its URL and without what was sent.
#[derive(Deserialize)]
pub struct AttemptV1 {
    round: u32,
    at: Timestamp,
    status_code: Option<u16>,
    error: Option<String>,
    duration_ms: u64,
    response_body: String,
}

impl From<AttemptV1> for Attempt {
    fn from(attempt: AttemptV1) -> Self {
        Self {
            round: attempt.round,
            at: attempt.at,
            status_code: attempt.status_code,
            error: attempt.error,
            duration_ms: attempt.duration_ms,
            response_body: attempt.response_body,
            url: None,
            sent: None,
        }
    }
}
