//! The usage of an account by day, key and model, as a page and as a CSV file.

use super::charts;
use super::names::Names;
use super::usage_sums::{CSV_HEAD, Sums, csv_lines};
use crate::application::blocking::blocking;
use crate::application::services::AccountService;
use crate::web::access::OfAccount;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// Default number of days, today included.
pub const DAYS: i64 = 30;

/// `GET /accounts/{account_id}/usage`.
pub async fn show(
    of: OfAccount,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, Problem> {
    let usage = read(of.account.id, &request, accounts, view).await?;
    Ok(HttpResponse::Ok().json(usage))
}

/// `GET /accounts/{account_id}/usage.csv`: one line per day, key, model and size.
pub async fn csv(
    of: OfAccount,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
) -> Result<HttpResponse, Problem> {
    let account = of.account.id;
    let lines = read(account, &request, accounts, file).await?;
    let name = format!("attachment; filename=\"usage-{account}.csv\"");
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, name))
        .body(lines))
}

/// Reads usage on a blocking thread, because there may be many records.
async fn read<T: Send + 'static>(
    account: AccountId,
    request: &HttpRequest,
    accounts: web::Data<AccountService>,
    usage: fn(&AccountService, AccountId, i64) -> Result<T, StoreError>,
) -> Result<T, Problem> {
    let days = charts::days_param(request, DAYS)?;
    Ok(blocking(move || usage(&accounts, account, days)).await?)
}

fn view(accounts: &AccountService, account: AccountId, days: i64) -> Result<Value, StoreError> {
    let core = &accounts.core;
    let first = core.now().day() - days + 1;
    let mut names = Names::default();
    let mut sums = Sums::default();
    let mut keys: BTreeMap<KeyId, UsageTotals> = BTreeMap::new();
    let read = core
        .store
        .each_daily_usage_since(account, first, |position, usage| {
            sums.add(position.day, &usage);
            let key = keys.entry(position.key).or_default();
            *key = key.plus(usage.totals()).unwrap_or(*key);
            Ok(())
        });
    read.wait()?;
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort_by_key(|(_, it)| std::cmp::Reverse((it.spent, it.done)));
    let mut by_key = Vec::with_capacity(keys.len());
    for (key, usage) in keys {
        let mut line = charts::figures(&usage);
        line["key_id"] = json!(key);
        line["key_name"] = json!(names.key(core, key)?);
        by_key.push(line);
    }
    let mut view = sums.view(first, days);
    view["keys"] = json!(by_key);
    Ok(view)
}

fn file(accounts: &AccountService, account: AccountId, days: i64) -> Result<String, StoreError> {
    let first = accounts.core.now().day() - days + 1;
    let mut names = Names::default();
    let lines = csv_lines(
        &accounts.core,
        &accounts.settings,
        account,
        first,
        "",
        &mut names,
    )?;
    Ok(format!("{CSV_HEAD}{lines}"))
}
