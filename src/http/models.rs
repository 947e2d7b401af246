//! `GET /models`: the models with their sizes and prices.

use crate::api::answers::models_on_sale;
use crate::application::core::Core;
use crate::application::pause;
use crate::application::settings::Settings;
use crate::web::auth::Principal;
use crate::web::paging::Listing;
use crate::web::problem::HttpResult;
use actix_web::http::header;
use actix_web::{HttpResponse, web};

/// Always a single page.
pub async fn list(
    principal: Principal,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    principal.admit()?;
    let pause = pause::current(&core).await?;
    let models = models_on_sale(&settings, &pause, |tier| principal.caller.key.allows(tier));
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(Listing::of(models, None)))
}
