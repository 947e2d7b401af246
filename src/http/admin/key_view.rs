//! An API key on the wire and in the audit log. Of its text neither knows anything.

use crate::http::problem::Problem;
use crate::http::state::AppState;
use serde::Serialize;
use serde_json::{Value, json};
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

/// A key on the wire.
#[derive(Serialize)]
pub struct KeyView {
    key_id: String,
    account_id: String,
    /// Shown once, when the key is made or rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<String>,
    name: String,
    models: Vec<&'static str>,
    active: bool,
    expires_at: Option<String>,
    spend_limit: Option<String>,
    spend_limit_daily: Option<String>,
    spend_limit_monthly: Option<String>,
    spent: String,
    spent_today: String,
    spent_this_month: String,
    rate_limit: Option<RateView>,
    allowed_ips: Option<Vec<String>>,
    last_used_at: Option<String>,
    previous_valid_until: Option<String>,
    created_at: String,
}

#[derive(Serialize)]
struct RateView {
    per_second: u32,
    burst: u32,
}

impl KeyView {
    /// A key with what it has spent and when it was used, as far as is known now.
    pub fn new(state: &AppState, key: ApiKey, api_key: Option<String>) -> Result<Self, Problem> {
        let now = state.now();
        let spending = state.store.key_spending(key.id)?;
        let spent = |period| spending.within(period, now).to_string();
        let written = state.store.key_last_use(key.id)?;
        let last_use = state.key_ring.last_use(key.id).max(written);
        Ok(Self {
            key_id: key.id.to_string(),
            account_id: key.account.to_string(),
            api_key,
            models: models(&key),
            active: key.active,
            expires_at: text(key.expires_at),
            spend_limit: text(key.spend_limit),
            spend_limit_daily: text(key.spend_limit_daily),
            spend_limit_monthly: text(key.spend_limit_monthly),
            spent: spent(Period::Total),
            spent_today: spent(Period::Day),
            spent_this_month: spent(Period::Month),
            rate_limit: key.rate_limit.map(|rate| RateView {
                per_second: rate.per_second,
                burst: rate.burst,
            }),
            allowed_ips: ranges(&key),
            last_used_at: text(last_use),
            previous_valid_until: text(key.overlap_ends(now)),
            created_at: key.created_at.to_string(),
            name: key.name,
        })
    }
}

/// What the audit log says of a key: all that an operator sets.
pub fn facts(key: &ApiKey, now: Timestamp) -> Value {
    json!({
        "name": key.name,
        "models": models(key),
        "active": key.active,
        "expires_at": text(key.expires_at),
        "spend_limit": text(key.spend_limit),
        "spend_limit_daily": text(key.spend_limit_daily),
        "spend_limit_monthly": text(key.spend_limit_monthly),
        "rate_limit": key.rate_limit.map(|it| json!({"per_second": it.per_second, "burst": it.burst})),
        "allowed_ips": ranges(key),
        "previous_valid_until": text(key.overlap_ends(now)),
    })
}

fn models(key: &ApiKey) -> Vec<&'static str> {
    let allowed = Tier::ALL.iter().filter(|tier| key.allows(**tier));
    allowed.map(|tier| tier.word()).collect()
}

fn ranges(key: &ApiKey) -> Option<Vec<String>> {
    let ranges = || key.allowed_ips.iter().map(ToString::to_string).collect();
    (!key.allowed_ips.is_empty()).then(ranges)
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|it| it.to_string())
}
