//! `?dry_run=true` on the generation calls: runs every check and creates nothing.

use crate::application::error::FieldFault;
use crate::web::queries::query::MAX_FAULTS;
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
