//! The audit log as the operator reads it: with the names of those whom its lines are about.

use crate::application::audit_list;
use crate::application::state::AppState;
use crate::management::audit::asked;
use crate::web::access::OperatorCall;
use crate::web::paging::try_listing;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::collections::HashMap;
use tintype_storage::domain::audit_log::AuditEntry;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::PersonId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// `GET /audit`
pub async fn list(
    _: OperatorCall,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (window, filter) = asked(&request)?;
    let page = audit_list::page(&state, window, filter).await?;
    let mut names = Names::default();
    let list = try_listing(page, |entry| names.told(&state, entry))?;
    Ok(HttpResponse::Ok().json(list))
}

/// Names that were looked up for one answer.
#[derive(Default)]
struct Names {
    accounts: HashMap<AccountId, Option<String>>,
    people: HashMap<PersonId, Option<String>>,
}

impl Names {
    /// A line with the account's name and the e-mail address of the person who made the change, where they are still there.
    fn told(&mut self, state: &AppState, entry: AuditEntry) -> Result<Value, StoreError> {
        let account = entry.account;
        let person = entry.actor.person().map(PersonId);
        let mut view = json!(tintype_api::AuditEntry::from(entry));
        if let Some(account) = account {
            view["account_name"] = json!(self.account(state, account)?);
            if let Some(person) = person {
                view["person_email"] = json!(self.person(state, account, person)?);
            }
        }
        Ok(view)
    }

    fn account(&mut self, state: &AppState, id: AccountId) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.accounts.get(&id) {
            return Ok(known.clone());
        }
        let name = state.store.account(id).wait()?.map(|it| it.name);
        self.accounts.insert(id, name.clone());
        Ok(name)
    }

    fn person(
        &mut self,
        state: &AppState,
        account: AccountId,
        id: PersonId,
    ) -> Result<Option<String>, StoreError> {
        if let Some(known) = self.people.get(&id) {
            return Ok(known.clone());
        }
        let person = state.store.person(account, id).wait()?;
        let email = person.map(|it| it.email.as_str().to_owned());
        self.people.insert(id, email.clone());
        Ok(email)
    }
}
