//! `?dry_run=true` on the generation calls: every check, and then nothing.

use crate::api::job::Estimate;
use crate::application::state::AppState;
use crate::web::problem::{FieldFault, Problem};
use crate::web::query::shown;
use actix_web::HttpResponse;
use actix_web::http::header;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::NewJob;

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
pub fn answer(state: &AppState, account: AccountId, job: &NewJob) -> Result<HttpResponse, Problem> {
    let account = state.store.account(account)?;
    let available = account.map(|it| it.books.available()).unwrap_or_default();
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(Estimate {
        price: job.price.to_string(),
        tier: job.tier.word(),
        mode: job.mode.word(),
        aspect_ratio: job.ratio.to_string(),
        resolution: job.resolution.word(),
        available: available.to_string(),
    }))
}
