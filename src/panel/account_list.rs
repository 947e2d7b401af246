//! The accounts of the operator's pages: searched, sorted, and with the names that are not unique.

use super::overview::is_low;
use crate::api::responses;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::settings::Settings;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{FieldFault, HttpResult};
use crate::web::queries::paging::{Page, Window, filtered_window};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::LazyLock;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::account::Account;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// Each response reads all accounts, so one is read at a time.
static PERMITS: LazyLock<FairSemaphore<()>> = LazyLock::new(|| FairSemaphore::new(1, 1));

const MAX_SEARCH_CHARS: usize = 200;

#[derive(Clone, Copy, Default)]
enum Sort {
    #[default]
    Oldest,
    Name,
    LowestBalance,
    HighestBalance,
}

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

/// `GET /accounts?search=&name=&sort=`
pub async fn list(
    _: OperatorCall,
    request: HttpRequest,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let (mut filter, mut sort) = (AccountFilter::default(), Sort::default());
    let take = |name: &str, value: &str| read(&mut filter, &mut sort, name, value);
    let window = filtered_window(&request, &["search", "name", "sort"], take)?;
    let permit = PERMITS.acquire((), 1).await;
    let shared = core.clone();
    let found = blocking(move || {
        // The read itself releases the permit, because it continues after a disconnect.
        let _permit = permit;
        find(&shared, &filter, sort, window)
    });
    let (page, names, next) = found.await?;
    let mut data = Vec::with_capacity(page.len());
    for account in page {
        data.push(AccountListItem {
            shares_name: names.get(&account.name).is_some_and(|count| *count > 1),
            low: account.active && is_low(&settings, &account),
            account: responses::account(&core, account).await?,
        });
    }
    Ok(HttpResponse::Ok().json(Page::of(data, next)))
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

type MatchingAccounts = (Vec<Account>, HashMap<String, usize>, Option<[u8; 16]>);

/// Returns a page of the accounts that match, the number of accounts of each name, and where the next page begins. Blocks.
fn find(
    core: &Core,
    filter: &AccountFilter,
    sort: Sort,
    window: Window,
) -> Result<MatchingAccounts, StoreError> {
    let mut names = HashMap::new();
    let mut found = Vec::new();
    core.store
        .each_account(|account| {
            *names.entry(account.name.clone()).or_insert(0) += 1;
            if filter.matches(&account) {
                found.push(account);
            }
            Ok(())
        })
        .wait()?;
    match sort {
        Sort::Oldest => {}
        Sort::Name => found.sort_by_cached_key(|it| it.name.to_lowercase()),
        Sort::LowestBalance => found.sort_by_key(|it| it.balances.balance),
        Sort::HighestBalance => found.sort_by_key(|it| std::cmp::Reverse(it.balances.balance)),
    }
    let is_last_read = |it: &Account| Some(*it.id.as_bytes()) == window.after;
    let start = found.iter().position(is_last_read).map_or(0, |at| at + 1);
    let rest = found.len() - start;
    let page: Vec<Account> = found.into_iter().skip(start).take(window.limit).collect();
    let next = page.last().filter(|_| rest > window.limit);
    let next = next.map(|it| *it.id.as_bytes());
    Ok((page, names, next))
}
