//! Lists the audit log.

use crate::application::core::Core;
use crate::application::operations::audit_list::{self, AuditFilter, is_named};
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{FieldFault, HttpResult, Problem};
use crate::web::queries::paging::{self, Window, to_page};
use crate::web::queries::query;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::person::PersonId;

const NAMES: &[&str] = &["account_id", "person_id", "action", "from", "to"];

/// Newest first.
pub async fn list(_: OperatorCall, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let (window, filter) = parse_query(&request)?;
    let page = audit_list::page(&core, window, filter).await?;
    Ok(HttpResponse::Ok().json(to_page(page, tintype_api::AuditEntry::from)))
}

/// # Errors
/// 422 with every invalid parameter
pub fn parse_query(request: &HttpRequest) -> Result<(Window, AuditFilter), Problem> {
    let mut filter = AuditFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value);
    let window = paging::filtered_window(request, NAMES, take)?;
    Ok((window, filter))
}

fn read(filter: &mut AuditFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    match name {
        "account_id" => filter.account = Some(query::id(name, value)?),
        "person_id" => filter.person = Some(query::id::<PersonId>(name, value)?.0),
        "action" if Action::ALL.iter().any(|it| is_named(*it, value)) => {
            filter.action = Some(value.to_owned());
        }
        "action" => return Err(FieldFault::new(name, unknown_action())),
        _ => query::range_end(&mut filter.range, name, value)?,
    }
    Ok(())
}

fn unknown_action() -> String {
    let words: Vec<&str> = Action::names().collect();
    format!(
        "must be one of {}; or only the part before the dot",
        words.join(", ")
    )
}
