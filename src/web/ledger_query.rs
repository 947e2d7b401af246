//! Parses the filters of a ledger.

use super::paging::{self, Window};
use super::problem::{FieldFault, Problem};
use crate::application::ledger::LedgerFilter;
use actix_web::HttpRequest;
use tintype_storage::domain::ledger::EntryKind;
use tintype_storage::domain::time::Timestamp;

const NAMES: &[&str] = &["kind", "from", "to"];
const KINDS: [EntryKind; 3] = [EntryKind::Deposit, EntryKind::Charge, EntryKind::Adjustment];

/// # Errors
/// 422 with every invalid parameter
pub fn of(request: &HttpRequest) -> Result<(Window, LedgerFilter), Problem> {
    let mut filter = LedgerFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value).err();
    let window = paging::filtered_window(request, NAMES, take)?;
    Ok((window, filter))
}

fn read(filter: &mut LedgerFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    let fault = |message: &str| FieldFault::new(name, message);
    if name == "kind" {
        let known = KINDS.into_iter().find(|it| it.word() == value);
        filter.kind = Some(known.ok_or_else(|| fault("must be deposit, charge or adjustment"))?);
        return Ok(());
    }
    let message = "must be an RFC 3339 date and time, such as 2026-01-31T12:00:00Z";
    let moment = Timestamp::parse(value).ok_or_else(|| fault(message))?;
    match name {
        "from" => filter.range.from = Some(moment),
        _ => filter.range.to = Some(moment),
    }
    Ok(())
}
