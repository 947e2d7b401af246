//! Lists the audit log.

use crate::application::audit_list::{self, AuditFilter, is_named};
use crate::application::core::Core;
use crate::web::access::OperatorCall;
use crate::web::paging::{self, Window, listing};
use crate::web::problem::{FieldFault, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::person::PersonId;
use tintype_storage::domain::time::Timestamp;

const NAMES: &[&str] = &["account_id", "person_id", "action", "from", "to"];

/// `GET /audit`: newest first.
pub async fn list(
    _: OperatorCall,
    request: HttpRequest,
    core: web::Data<Core>,
) -> Result<HttpResponse, Problem> {
    let (window, filter) = parse_query(&request)?;
    let page = audit_list::page(&core, window, filter).await?;
    Ok(HttpResponse::Ok().json(listing(page, tintype_api::AuditEntry::from)))
}

/// # Errors
/// 422 with every invalid parameter
pub fn parse_query(request: &HttpRequest) -> Result<(Window, AuditFilter), Problem> {
    let mut filter = AuditFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value).err();
    let window = paging::filtered_window(request, NAMES, take)?;
    Ok((window, filter))
}

fn read(filter: &mut AuditFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    let fault = |message: &str| FieldFault::new(name, message);
    let id = || fault("must be an id");
    match name {
        "account_id" => filter.account = Some(value.parse().map_err(|_| id())?),
        "person_id" => {
            let person: PersonId = value.parse().map_err(|_| id())?;
            filter.person = Some(person.0);
        }
        "action" if Action::ALL.iter().any(|it| is_named(*it, value)) => {
            filter.action = Some(value.to_owned());
        }
        "action" => return Err(fault(&unknown_action())),
        _ => {
            let message = "must be an RFC 3339 date and time, such as 2030-01-31T12:00:00Z";
            let moment = Timestamp::parse(value).ok_or_else(|| fault(message))?;
            match name {
                "from" => filter.range.from = Some(moment),
                _ => filter.range.to = Some(moment),
            }
        }
    }
    Ok(())
}

fn unknown_action() -> String {
    let words: Vec<&str> = Action::ALL.iter().map(|it| it.word()).collect();
    format!(
        "must be one of {}; or only the part before the dot",
        words.join(", ")
    )
}
