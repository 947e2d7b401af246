//! `GET /key`: what the caller's own key may do.

use crate::api::key::Rate;
use crate::api::kinds;
use crate::application::state::AppState;
use crate::web::auth::Principal;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::Tier;

/// What the caller's own key may do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Key", deny_unknown_fields)]
pub struct OwnKey<'a> {
    /// The key's id, which is no secret.
    #[schemars(with = "kinds::Id")]
    key_id: String,
    /// Its name.
    name: &'a str,
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
    /// What it has spent.
    #[schemars(with = "kinds::Money")]
    spent: String,
    #[serde(flatten)]
    month: Option<Month>,
    #[serde(flatten)]
    day: Option<Day>,
    /// How often it may call, be it by its own limit or by that of the configuration.
    rate_limit: Option<Rate>,
    /// When it was made.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
}

/// Of a key with a limit per calendar month.
#[derive(Serialize, JsonSchema)]
struct Month {
    /// Only of a key with such a limit: the most that it may spend in a calendar month of UTC.
    #[schemars(with = "kinds::Money")]
    spend_limit_monthly: String,
    /// Only of a key with such a limit.
    #[schemars(with = "kinds::Money")]
    spent_this_month: String,
}

/// Of a key with a limit per day.
#[derive(Serialize, JsonSchema)]
struct Day {
    /// Only of a key with such a limit: the most that it may spend in a day of UTC.
    #[schemars(with = "kinds::Money")]
    spend_limit_daily: String,
    /// Only of a key with such a limit.
    #[schemars(with = "kinds::Money")]
    spent_today: String,
}

/// The key, without its text. `rate_limit` is the one that holds, be it the key's own or that of the configuration.
pub async fn show(
    principal: Principal,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    principal.admit()?;
    let key = principal.caller.key();
    let allowed = Tier::ALL.iter().filter(|tier| key.allows(**tier));
    let spending = state.store.key_spending(key.id)?;
    let spent = |period| spending.within(period, state.now()).to_string();
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(OwnKey {
        key_id: key.id.to_string(),
        name: &key.name,
        models: allowed.map(|tier| tier.word()).collect(),
        active: key.active,
        expires_at: key.expires_at.map(|at| at.to_string()),
        spend_limit: key.spend_limit.map(|limit| limit.to_string()),
        spent: spent(Period::Total),
        month: key.spend_limit_monthly.map(|limit| Month {
            spend_limit_monthly: limit.to_string(),
            spent_this_month: spent(Period::Month),
        }),
        day: key.spend_limit_daily.map(|limit| Day {
            spend_limit_daily: limit.to_string(),
            spent_today: spent(Period::Day),
        }),
        rate_limit: state.rates.of(key).map(|rate| Rate {
            per_second: rate.per_second,
            burst: rate.burst,
        }),
        created_at: key.created_at.to_string(),
    }))
}
