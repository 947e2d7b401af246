//! The accounts of the operator's pages: searched, sorted, and with the names that are not unique.

use super::overview::is_low;
use crate::api::responses;
use crate::application::accounts::account_list::{self, MatchingAccounts, Sort};
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::settings::Settings;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{FieldFault, HttpResult};
use crate::web::queries::paging::{filtered_window, to_page_async};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use tintype_storage::domain::account::Account;

const MAX_SEARCH_CHARS: usize = 200;

#[derive(Default)]
struct AccountFilter {
    /// A lowercase part of the name or of the id.
    search: Option<String>,
    /// The whole name in lowercase.
    name: Option<String>,
}

impl AccountFilter {
    fn matches(&self, account: &Account) -> bool {
        let name = account.name.to_lowercase();
        let search = |text: &String| name.contains(text) || account.id.to_string().contains(text);
        self.search.as_ref().is_none_or(search) && self.name.as_ref().is_none_or(|it| *it == name)
    }
}

#[derive(Serialize)]
struct AccountListItem {
    #[serde(flatten)]
    account: tintype_api::Account,
    /// Whether another account has the same name.
    shares_name: bool,
    /// Whether the overview of the account warns of its balance.
    low: bool,
}

pub async fn list(
    _: OperatorCall,
    request: HttpRequest,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let (mut filter, mut sort) = (AccountFilter::default(), Sort::default());
    let take = |name: &str, value: &str| read(&mut filter, &mut sort, name, value);
    let window = filtered_window(&request, &["search", "name", "sort"], take)?;
    let found = account_list::find(&core, move |it| filter.matches(it), sort, window);
    let MatchingAccounts { page, names } = found.await?;
    let view = async |account: Account| {
        Ok::<_, Error>(AccountListItem {
            shares_name: names.get(&account.name).is_some_and(|count| *count > 1),
            low: account.active && is_low(&settings, &account),
            account: responses::account(&core, account).await?,
        })
    };
    Ok(HttpResponse::Ok().json(to_page_async(page, view).await?))
}

fn read(
    filter: &mut AccountFilter,
    sort: &mut Sort,
    name: &str,
    value: &str,
) -> Result<(), FieldFault> {
    if value.chars().count() > MAX_SEARCH_CHARS {
        let message = format!("may have at most {MAX_SEARCH_CHARS} characters");
        return Err(FieldFault::new(name, message));
    }
    match name {
        "search" => filter.search = Some(value.trim().to_lowercase()),
        "name" => filter.name = Some(value.to_lowercase()),
        _ => {
            *sort = match value {
                "name" => Sort::Name,
                "lowest_balance" => Sort::LowestBalance,
                "highest_balance" => Sort::HighestBalance,
                _ => {
                    let message = "must be one of name, lowest_balance, highest_balance";
                    return Err(FieldFault::new(name, message));
                }
            }
        }
    }
    Ok(())
}
