//! `GET /key`: what the caller's own key may do.

use super::auth::Principal;
use super::problem::Problem;
use super::state::AppState;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::Tier;

#[derive(Serialize)]
struct OwnKey<'a> {
    key_id: String,
    name: &'a str,
    models: Vec<&'static str>,
    active: bool,
    expires_at: Option<String>,
    spend_limit: Option<String>,
    spent: String,
    #[serde(flatten)]
    month: Option<Month>,
    #[serde(flatten)]
    day: Option<Day>,
    rate_limit: Option<Rate>,
    created_at: String,
}

/// Of a key with a limit per calendar month.
#[derive(Serialize)]
struct Month {
    spend_limit_monthly: String,
    spent_this_month: String,
}

/// Of a key with a limit per day.
#[derive(Serialize)]
struct Day {
    spend_limit_daily: String,
    spent_today: String,
}

#[derive(Serialize)]
struct Rate {
    per_second: u32,
    burst: u32,
}

/// The key, without its text. `rate_limit` is the one that holds, be it the key's own or that of the configuration.
pub async fn show(
    principal: Principal,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    principal.admit()?;
    let key = &principal.key;
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
