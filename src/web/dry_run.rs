//! `?dry_run=true` on the generation calls: every check, and then nothing.

use crate::application::error::FieldFault;
use crate::application::submit_generation::Estimate;
use actix_web::HttpResponse;
use actix_web::http::header;
use tintype_api::fields::shown;

const PARAMETER: &str = "dry_run";

/// Is the call only to be checked? A generation call takes this parameter and no other: one that is misspelt must not cost money.
pub fn is_asked(query: &str) -> Result<bool, Vec<FieldFault>> {
    let (mut asked, mut faults) = (None, Vec::new());
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let message = match (&*name, &*value) {
            (PARAMETER, _) if asked.is_some() => "stands twice; send it once",
            (PARAMETER, "true" | "false") => {
                asked = Some(value == "true");
                continue;
            }
            (PARAMETER, _) => "must be true or false",
            _ => "is unknown; generation calls take the parameter dry_run and no other",
        };
        faults.push(FieldFault::new(shown(&name), message));
        if faults.len() == MAX_FAULTS {
            break;
        }
    }
    if faults.is_empty() {
        Ok(asked.unwrap_or(false))
    } else {
        Err(faults)
    }
}

/// Faults that an answer lists: a query can hold thousands.
const MAX_FAULTS: usize = 20;

/// What the job would be, had it been accepted.
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
