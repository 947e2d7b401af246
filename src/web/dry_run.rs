//! `?dry_run=true` on the generation calls: runs every check and creates nothing.

use super::query::MAX_FAULTS;
use crate::application::error::FieldFault;
use crate::application::submit_generation::Estimate;
use actix_web::HttpResponse;
use actix_web::http::header;
use tintype_api::fields::shown;

const PARAMETER: &str = "dry_run";

/// Parses the query. Generation calls accept no other parameter, so that a misspelt `dry_run` cannot cost money.
pub fn is_requested(query: &str) -> Result<bool, Vec<FieldFault>> {
    let (mut requested, mut faults) = (None, Vec::new());
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let message = match (&*name, &*value) {
            (PARAMETER, _) if requested.is_some() => "is given twice; send it once",
            (PARAMETER, "true" | "false") => {
                requested = Some(value == "true");
                continue;
            }
            (PARAMETER, _) => "must be true or false",
            _ => "is unknown; generation calls accept only the parameter dry_run",
        };
        faults.push(FieldFault::new(shown(&name), message));
        if faults.len() == MAX_FAULTS {
            break;
        }
    }
    if faults.is_empty() {
        Ok(requested.unwrap_or(false))
    } else {
        Err(faults)
    }
}

pub fn answer(estimate: &Estimate) -> HttpResponse {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    answer.json(tintype_api::Estimate {
        price: estimate.offer.price().into(),
        tier: estimate.offer.tier().word().into(),
        mode: estimate.mode.word().into(),
        aspect_ratio: estimate.ratio.into(),
        resolution: estimate.offer.resolution().word().into(),
        available: estimate.available.into(),
    })
}
