//! An API key on the wire and in the audit log. Of its text neither knows anything.

use crate::api::kinds;
use crate::application::state::AppState;
use crate::http::key::Rate;
use crate::web::problem::Problem;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

/// A key on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApiKey", deny_unknown_fields)]
pub struct KeyView {
    /// The key's id, which is no secret.
    #[schemars(with = "kinds::Id")]
    key_id: String,
    /// Whose it is.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// Shown once, when the key is made or rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "kinds::KeyText")]
    api_key: Option<String>,
    /// A name for people.
    name: String,
    /// The models that it may ask for.
    #[schemars(with = "Vec<kinds::TierWord>")]
    models: Vec<&'static str>,
    /// Switched on.
    active: bool,
    /// Until when it is valid.
    #[schemars(with = "Option<kinds::Moment>")]
    expires_at: Option<String>,
    /// The most that it may spend over all its life.
    #[schemars(with = "Option<kinds::Money>")]
    spend_limit: Option<String>,
    /// The most that it may spend in a day of UTC.
    #[schemars(with = "Option<kinds::Money>")]
    spend_limit_daily: Option<String>,
    /// The most that it may spend in a calendar month of UTC.
    #[schemars(with = "Option<kinds::Money>")]
    spend_limit_monthly: Option<String>,
    /// What it has spent over all its life.
    #[schemars(with = "kinds::Money")]
    spent: String,
    /// What it has spent in this day of UTC.
    #[schemars(with = "kinds::Money")]
    spent_today: String,
    /// What it has spent in this calendar month of UTC.
    #[schemars(with = "kinds::Money")]
    spent_this_month: String,
    /// How often it may call; `null`: as the configuration says.
    rate_limit: Option<Rate>,
    /// Addresses and ranges that it may be used from; `null`: everywhere.
    allowed_ips: Option<Vec<String>>,
    /// When it was last used.
    #[schemars(with = "Option<kinds::Moment>")]
    last_used_at: Option<String>,
    /// Until when an earlier text of it is valid.
    #[schemars(with = "Option<kinds::Moment>")]
    previous_valid_until: Option<String>,
    /// When it was made.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
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
            rate_limit: key.rate_limit.map(|rate| Rate {
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
