//! The usage of an account by day, key and model, as a page and as a CSV file.

use super::chart_view::figures;
use super::charts;
use super::csv_file::{self, CsvSource};
use super::names::Names;
use super::usage_view::{self, CSV_HEAD, csv_lines};
use crate::application::blocking::blocking;
use crate::application::services::AccountService;
use crate::application::usage;
use crate::web::auth::access::OfAccount;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

pub async fn show(
    of: OfAccount,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let days = charts::days_of(&request, accounts.core.now().day())?;
    // There may be many records.
    let usage = blocking(move || view(&accounts, of.account.id, days)).await?;
    Ok(HttpResponse::Ok().json(usage))
}

/// One line per day, key, model and size.
pub async fn csv(
    of: OfAccount,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let account = of.account.id;
    let file = UsageFile {
        days: charts::days_of(&request, accounts.core.now().day())?,
        accounts,
        account,
    };
    csv_file::respond(&format!("usage-{account}.csv"), CSV_HEAD, file).await
}

fn view(
    accounts: &AccountService,
    account: AccountId,
    days: RangeInclusive<i64>,
) -> Result<Value, StoreError> {
    let core = &accounts.core;
    let mut names = Names::default();
    let sums = usage::of_account(core, account, None, days.clone())?;
    let mut keys: Vec<_> = sums.keys.iter().collect();
    keys.sort_by_key(|(_, it)| usage::by_spend(it));
    let mut by_key = Vec::with_capacity(keys.len());
    for (&key, totals) in keys {
        let mut line = figures(totals);
        line["key_id"] = json!(key);
        let name = names.key(core, key).wait()?;
        line["key_deleted"] = json!(name.as_ref().is_none_or(|it| it.is_deleted));
        line["key_name"] = json!(name.map(|it| it.name));
        by_key.push(line);
    }
    let mut view = usage_view::sums(&sums, days);
    view["keys"] = json!(by_key);
    Ok(view)
}

struct UsageFile {
    accounts: web::Data<AccountService>,
    account: AccountId,
    days: RangeInclusive<i64>,
}

impl CsvSource for UsageFile {
    const CONTENT: &'static str = "usage";

    fn read(self) -> Result<(String, Option<Self>), StoreError> {
        let AccountService { core, settings, .. } = &**self.accounts;
        let mut names = Names::default();
        let lines = csv_lines(core, settings, self.account, self.days, "", &mut names)?;
        Ok((lines, None))
    }
}
