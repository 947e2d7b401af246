//! What all accounts have used, for the operator: by account, by model and by day, on a page and as a file.

use super::Panel;
use super::charts;
use super::csv_file::{self, CsvSource};
use super::names::Names;
use super::service::Figures;
use super::usage::DAYS;
use super::usage_sums::{CSV_HEAD, Sums, csv_lines};
use crate::application::commit::detached;
use crate::application::error;
use crate::application::state::AppState;
use crate::ledger_csv::quoted;
use crate::web::access::OperatorCall;
use crate::web::problem::Problem;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, StoreError};

/// Accounts that the page lists: those that spent most. The file has all of them.
const ACCOUNTS: usize = 100;
/// Accounts whose lines of the file are read at a time.
const STEP: usize = 50;

/// The usage that was gathered last, by the number of its days.
#[derive(Default)]
pub struct Gathered(Mutex<BTreeMap<i64, Arc<Figures>>>);

impl Gathered {
    fn of(&self, days: i64) -> Arc<Figures> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(days).or_default())
    }
}

/// `GET /usage`
pub async fn show(
    _: OperatorCall,
    request: HttpRequest,
    state: Data<AppState>,
    panel: Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let days = charts::asked_days(&request, DAYS)?;
    let gathered = panel.usage.of(days);
    let usage = detached(async move {
        let read = async || {
            let read = web::block(move || view(&state, days)).await;
            Ok(read.map_err(|_| error::busy())??)
        };
        gathered.get(read).await
    });
    Ok(HttpResponse::Ok().json(usage.await?))
}

fn view(state: &AppState, days: i64) -> Result<Value, StoreError> {
    let first = state.now().day() - days + 1;
    let mut sums = Sums::default();
    let mut accounts = Vec::new();
    let read = state.store.each_account(|account| {
        let mut total = UsageTotals::default();
        let read = state
            .store
            .each_daily_usage_since(account.id, first, |place, usage| {
                sums.add(place.day, &usage);
                total = total.plus(usage.totals()).unwrap_or(total);
                Ok(())
            });
        read.wait()?;
        if total != UsageTotals::default() {
            accounts.push((account.id, account.name, total));
        }
        Ok(())
    });
    read.wait()?;
    accounts.sort_by_key(|(.., it)| Reverse((it.spent, it.done)));
    let lines = accounts.iter().take(ACCOUNTS).map(|(id, name, total)| {
        let mut line = charts::figures(total);
        line["account_id"] = json!(id);
        line["account_name"] = json!(name);
        line
    });
    let mut view = sums.view(first, days);
    view["accounts"] = json!(lines.collect::<Vec<_>>());
    view["account_count"] = json!(accounts.len());
    Ok(view)
}

/// `GET /usage.csv`: a line for each account, day, key, model and size, account by account.
pub async fn csv(
    _: OperatorCall,
    request: HttpRequest,
    state: Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let days = charts::asked_days(&request, DAYS)?;
    let reader = Reader {
        first: state.now().day() - days + 1,
        state,
        after: None,
    };
    let head = format!("account_id,account_name,{CSV_HEAD}");
    csv_file::answer("usage.csv", &head, reader).await
}

/// How far the accounts have been read.
struct Reader {
    state: Data<AppState>,
    first: i64,
    after: Option<[u8; 16]>,
}

impl CsvSource for Reader {
    const WHAT: &'static str = "usage";

    fn read(self) -> Result<(String, Option<Self>), StoreError> {
        let Page { items, next } = self.state.store.accounts(STEP, self.after).wait()?;
        let mut names = Names::default();
        let mut text = String::new();
        for account in items {
            let whose = format!("{},{},", account.id, quoted(&account.name));
            text += &csv_lines(&self.state, account.id, self.first, &whose, &mut names)?;
        }
        let rest = next.map(|last| Self {
            after: Some(last),
            ..self
        });
        Ok((text, rest))
    }
}
