//! The usage of all accounts, for the operator: by account, model and day, as a page and as a CSV file.

use super::Panel;
use super::chart_view::figures;
use super::charts;
use super::csv_file::{self, CsvSource};
use super::names::Names;
use super::usage_view::{self, CSV_HEAD, csv_lines};
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::core::commit::detached;
use crate::application::settings::Settings;
use crate::application::usage;
use crate::csv_text::quote;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{HttpResult, Problem};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Page, StoreError};

/// The page lists this many accounts, by spend. The file has all accounts.
const ACCOUNTS: usize = 100;
/// Accounts that the file reads at a time.
const PAGE: usize = 50;

pub async fn show(
    _: OperatorCall,
    request: HttpRequest,
    core: Data<Core>,
    panel: Data<Panel>,
) -> HttpResult {
    let days = charts::days_of(&request, core.now().day())?;
    let usage = detached(async move {
        let range = (*days.start(), *days.end());
        let read = async || Ok::<_, Problem>(blocking(move || view(&core, days)).await?);
        panel.usage.get_or_compute(range, read).await
    });
    Ok(HttpResponse::Ok().json(usage.await?))
}

fn view(core: &Core, days: RangeInclusive<i64>) -> Result<Value, StoreError> {
    let (sums, accounts) = usage::of_all_accounts(core, days.clone())?;
    let lines = accounts.iter().take(ACCOUNTS).map(|it| {
        let mut line = figures(&it.totals);
        line["account_id"] = json!(it.id);
        line["account_name"] = json!(it.name);
        line
    });
    let mut view = usage_view::sums(&sums, days);
    view["accounts"] = json!(lines.collect::<Vec<_>>());
    view["account_count"] = json!(accounts.len());
    Ok(view)
}

/// One line per account, day, key, model and size, ordered by account.
pub async fn csv(
    _: OperatorCall,
    request: HttpRequest,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let reader = Reader {
        days: charts::days_of(&request, core.now().day())?,
        core,
        settings,
        after: None,
    };
    let head = format!("account_id,account_name,{CSV_HEAD}");
    csv_file::respond("usage.csv", &head, reader).await
}

struct Reader {
    core: Data<Core>,
    settings: Data<Settings>,
    days: RangeInclusive<i64>,
    /// The last account that was read.
    after: Option<[u8; 16]>,
}

impl CsvSource for Reader {
    const CONTENT: &'static str = "usage";

    fn read(self) -> Result<(String, Option<Self>), StoreError> {
        let Page { items, next } = self.core.store.accounts(PAGE, self.after).wait()?;
        let mut names = Names::default();
        let mut text = String::new();
        for account in items {
            let prefix = format!("{},{},", account.id, quote(&account.name));
            text += &csv_lines(
                &self.core,
                &self.settings,
                account.id,
                self.days.clone(),
                &prefix,
                &mut names,
            )?;
        }
        let rest = next.map(|last| Self {
            after: Some(last),
            ..self
        });
        Ok((text, rest))
    }
}
