//! `GET /models`: what is on sale for the caller's key.

use super::auth::Principal;
use super::paging::Listing;
use super::problem::Problem;
use super::state::AppState;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use std::collections::BTreeMap;
use tintype_storage::domain::tier::{Mode, Tier};

#[derive(Serialize)]
struct Model {
    id: &'static str,
    modes: Vec<&'static str>,
    aspect_ratios: Vec<String>,
    resolutions: Vec<&'static str>,
    /// By resolution, in the service's currency.
    prices: BTreeMap<&'static str, String>,
    /// Would a call be answered 503 now?
    paused: bool,
    /// Is the key scoped for it?
    allowed: bool,
}

/// All models, always on one page.
pub async fn list(
    principal: Principal,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    principal.admit()?;
    let pause = *state.pause.read();
    let model = |tier: &Tier| {
        let offer = state.catalog.offer(*tier);
        let ratios = offer.aspect_ratios.iter().map(ToString::to_string);
        let prices = offer.prices.iter();
        Model {
            id: tier.word(),
            modes: Mode::ALL.iter().map(|mode| mode.word()).collect(),
            aspect_ratios: ratios
                .chain(offer.auto.then(|| "auto".to_owned()))
                .collect(),
            resolutions: prices.clone().map(|(it, _)| it.word()).collect(),
            prices: prices
                .map(|(it, price)| (it.word(), price.to_string()))
                .collect(),
            paused: pause.covers(*tier),
            allowed: principal.key.allows(*tier),
        }
    };
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(Listing::of(Tier::ALL.iter().map(model).collect(), None)))
}
