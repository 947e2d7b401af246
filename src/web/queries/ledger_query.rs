//! Parses the filters of a ledger.

use super::paging::{self, Window};
use super::query;
use crate::application::accounts::ledger::LedgerFilter;
use crate::web::problem::{FieldFault, Problem};
use actix_web::HttpRequest;
use tintype_storage::domain::ledger::EntryKind;

const NAMES: &[&str] = &["kind", "job_id", "from", "to"];

/// # Errors
/// 422 with every invalid parameter
pub fn from_request(request: &HttpRequest) -> Result<(Window, LedgerFilter), Problem> {
    let mut filter = LedgerFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value);
    let window = paging::filtered_window(request, NAMES, take)?;
    Ok((window, filter))
}

fn read(filter: &mut LedgerFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    match name {
        "kind" => filter.kind = Some(query::one_of(name, value, EntryKind::names())?),
        "job_id" => filter.job = Some(query::id(name, value)?),
        _ => query::range_end(&mut filter.range, name, value)?,
    }
    Ok(())
}
