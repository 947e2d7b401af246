//! What an account has used: by day, by key and by model, on a page and as a file.

use super::charts;
use super::names::Names;
use crate::application::error;
use crate::application::state::AppState;
use crate::ledger_csv::quoted;
use crate::web::access::OfAccount;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Part, StoreError};

/// Jobs that the page looks at for its figures by model, the newest first. The file looks at all.
const PAGE_JOBS: usize = 20_000;
const STEP: usize = 1_000;
/// A job may have waited this many days before it ended.
const LONGEST_WAIT_DAYS: i64 = 7;
const HEAD: &str = "day,key_id,key_name,model,resolution,done,failed,spent,currency\r\n";

/// Day of UTC, key, model and size.
type Place = (i64, KeyId, &'static str, &'static str);

/// `GET /usage`: exact by day and key, which are counted as jobs end; by model as far as jobs were looked at.
pub async fn show(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let usage = read(of.account.id, &request, state, view).await?;
    Ok(HttpResponse::Ok().json(usage))
}

/// `GET /usage.csv`: a line for each day, key, model and size.
pub async fn csv(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = of.account.id;
    let lines = read(account, &request, state, file).await?;
    let name = format!("attachment; filename=\"usage-{account}.csv\"");
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, name))
        .body(lines))
}

/// Reads the days that are asked for. Many records may have to be read, so that is done on another thread.
async fn read<T: Send + 'static>(
    account: AccountId,
    request: &HttpRequest,
    state: web::Data<AppState>,
    usage: fn(&AppState, AccountId, i64) -> Result<T, StoreError>,
) -> Result<T, Problem> {
    let days = charts::asked_days(request, 30)?;
    let read = web::block(move || usage(&state, account, days)).await;
    Ok(read.map_err(|_| error::busy())??)
}

fn view(state: &AppState, account: AccountId, days: i64) -> Result<Value, StoreError> {
    let first = state.now().day() - days + 1;
    let mut names = Names::default();
    let (mut total, mut keys) = (DailyUsage::default(), BTreeMap::new());
    let counted = state
        .store
        .each_daily_usage_since(account, first, |place, usage| {
            add(&mut total, usage);
            add(keys.entry(place.key).or_default(), usage);
            Ok(())
        });
    counted.wait()?;
    let mut by_key = Vec::with_capacity(keys.len());
    for (key, usage) in keys {
        let mut line = figures(&usage);
        line["key_id"] = json!(key);
        line["key_name"] = json!(names.key(state, key)?);
        by_key.push((usage.spent, usage.done, line));
    }
    by_key.sort_by_key(|it| Reverse((it.0, it.1)));
    let (places, all) = count(state, account, first, PAGE_JOBS)?;
    let mut models: BTreeMap<(usize, &str), DailyUsage> = BTreeMap::new();
    let mut model_days: BTreeMap<(i64, &str), DailyUsage> = BTreeMap::new();
    for ((day, _, tier, resolution), usage) in places {
        let order = Tier::ALL.iter().position(|it| it.word() == tier);
        add(
            models
                .entry((order.unwrap_or_default(), resolution))
                .or_default(),
            usage,
        );
        add(model_days.entry((day, tier)).or_default(), usage);
    }
    let models = models.into_iter().map(|((order, resolution), usage)| {
        let mut line = figures(&usage);
        line["model"] = json!(Tier::ALL[order].word());
        line["resolution"] = json!(resolution);
        line
    });
    let mut lines = charts::days(state, account, None, days)?;
    for (line, day) in lines.iter_mut().zip(first..) {
        let spent = |tier: &Tier| {
            let usage = model_days.get(&(day, tier.word()));
            (
                tier.word().to_owned(),
                json!(usage.copied().unwrap_or_default().spent.to_string()),
            )
        };
        line["models"] = Value::Object(Tier::ALL.iter().map(spent).collect::<Map<_, _>>());
    }
    Ok(json!({
        "total": figures(&total),
        "days": lines,
        "keys": by_key.into_iter().map(|it| it.2).collect::<Vec<_>>(),
        "models": models.collect::<Vec<_>>(),
        // False where only the newest jobs were looked at for the figures by model.
        "all": all,
    }))
}

fn file(state: &AppState, account: AccountId, days: i64) -> Result<String, StoreError> {
    let first = state.now().day() - days + 1;
    let (places, _) = count(state, account, first, usize::MAX)?;
    let mut names = Names::default();
    let mut text = HEAD.to_owned();
    for ((day, key, tier, resolution), usage) in places {
        let name = names.key(state, key)?.unwrap_or_default();
        let fields = [
            Timestamp::of_day(day).date(),
            key.to_string(),
            quoted(&name),
            tier.to_owned(),
            resolution.to_owned(),
            usage.done.to_string(),
            usage.failed.to_string(),
            usage.spent.to_string(),
            state.config.billing.currency.clone(),
        ];
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    Ok(text)
}

/// What the jobs came to that ended from a day on, and whether all of them were looked at.
fn count(
    state: &AppState,
    account: AccountId,
    first: i64,
    most: usize,
) -> Result<(BTreeMap<Place, DailyUsage>, bool), StoreError> {
    let from = Some(JobId::first_of(Timestamp::of_day(
        first - LONGEST_WAIT_DAYS,
    )));
    let mut places = BTreeMap::new();
    let (mut below, mut looked_at) = (None, 0);
    loop {
        let page = state.store.jobs_of(account, Part::Ended, below, from, STEP);
        let jobs = page.wait()?;
        looked_at += jobs.len();
        below = jobs.last().map(|job| job.id);
        let is_last = jobs.len() < STEP;
        for job in jobs {
            let ended = job.state.finished_at().map(Timestamp::day);
            let Some(day) = ended.filter(|day| *day >= first) else {
                continue;
            };
            let place = (day, job.key, job.tier.word(), job.resolution.word());
            let usage: &mut DailyUsage = places.entry(place).or_default();
            // A sum past what an amount can say is not shown.
            *usage = usage.with(&job).unwrap_or(*usage);
        }
        if is_last || looked_at >= most {
            return Ok((places, is_last));
        }
    }
}

fn add(sum: &mut DailyUsage, usage: DailyUsage) {
    *sum = sum.plus(usage).unwrap_or(*sum);
}

fn figures(usage: &DailyUsage) -> Value {
    json!({
        "done": usage.done,
        "failed": usage.failed,
        "spent": usage.spent.to_string(),
    })
}
