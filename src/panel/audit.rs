//! The audit log with the names of accounts and people.

use super::names::Names;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::operations::audit_list;
use crate::management::audit::parse_query;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::HttpResult;
use crate::web::queries::paging::try_to_page;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::person::PersonId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

pub async fn list(_: OperatorCall, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let (window, filter) = parse_query(&request)?;
    let page = audit_list::page(&core, window, filter).await?;
    let page = blocking(move || {
        let mut names = Names::default();
        try_to_page(page, |entry| with_names(&mut names, &core, entry).wait())
    });
    Ok(HttpResponse::Ok().json(page.await?))
}

/// Adds the account's name and the email addresses of the person who made the change and of the person whose sessions it ended, unless
/// they were deleted.
async fn with_names(
    names: &mut Names,
    core: &Core,
    entry: AuditEntry,
) -> Result<Value, StoreError> {
    let account = entry.account;
    let person = entry.actor.person().map(PersonId);
    let subject = entry
        .subject
        .filter(|_| entry.action == Action::SessionEndAll);
    let mut view = json!(tintype_api::AuditEntry::from(entry));
    if let Some(account) = account {
        view["account_name"] = json!(names.account(core, account).await?);
        if let Some(person) = person {
            view["person_email"] = json!(names.person(core, account, person).await?);
        }
        if let Some(subject) = subject {
            view["subject_email"] = json!(names.person(core, account, PersonId(subject)).await?);
        }
    }
    Ok(view)
}
