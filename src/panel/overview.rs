//! The first page: an account's money, jobs and deliveries at a glance, and the last two weeks of spending.

use super::guard::{OfAccount, Who};
use crate::http::admin::stats;
use crate::http::failures;
use crate::http::problem::Problem;
use crate::http::state::AppState;
use actix_web::{HttpResponse, web};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::delivery::DeliveryState;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::ledger::EntryKind;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{JobWindow, StoreError};

/// Days of the charts, today included.
const DAYS: i64 = 14;
const DAY_MILLIS: i64 = 86_400_000;
/// Ledger entries, jobs and deliveries that are looked at: beyond that the charts tell of the newest ones.
const MOST: usize = 20_000;
const STEP: usize = 1_000;
/// Below the price of this many of the dearest pictures, the balance is low.
const LOW: usize = 10;

/// `GET /overview`
pub async fn show(of: OfAccount, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    let depths = state.system.depths().await;
    let (shared, account) = (state.clone(), of.account.clone());
    let read = web::block(move || figures(&shared, &account)).await;
    let mut view = read.map_err(|_| failures::busy())??;
    view["queue"] = json!({
        "waiting": depths.queued.iter().sum::<usize>(),
        "running": depths.running,
    });
    view["paused"] = paused(&state);
    if matches!(of.visitor.who, Who::Operator) {
        let service = stats::figures(state).await?;
        // A map with string keys always encodes.
        view["service"] = serde_json::to_value(service).unwrap_or_default();
    }
    Ok(HttpResponse::Ok().json(view))
}

fn paused(state: &AppState) -> Value {
    let pause = state.pause.read();
    let tiers = Tier::ALL.iter().filter(|tier| pause.covers(**tier));
    json!({
        "project": pause.project,
        "tiers": tiers.map(|tier| tier.word()).collect::<Vec<_>>(),
    })
}

fn figures(state: &AppState, account: &Account) -> Result<Value, StoreError> {
    let mut live = [0_usize; 2];
    state.store.each_live_job_of(account.id, |job| {
        live[usize::from(matches!(job.state, JobState::Processing { .. }))] += 1;
        Ok(())
    })?;
    let today = state.now().millis().div_euclid(DAY_MILLIS);
    let first = today - DAYS + 1;
    let spent = spent_by_day(state, account.id, first)?;
    let ended = ended_by_day(state, account.id, first)?;
    let days: Vec<Value> = (first..=today)
        .map(|day| {
            let (done, failed) = ended.get(&day).copied().unwrap_or_default();
            json!({
                "day": &Timestamp::from_millis(day * DAY_MILLIS).to_string()[..10],
                "spent": spent.get(&day).copied().unwrap_or_default().to_string(),
                "done": done,
                "failed": failed,
            })
        })
        .collect();
    let books = &account.books;
    Ok(json!({
        "money": {
            "balance": books.balance.to_string(),
            "reserved": books.reserved.to_string(),
            "available": books.available().to_string(),
            "low": is_low(state, books.available()),
        },
        "jobs": {"queued": live[0], "processing": live[1]},
        "days": days,
        "webhooks": deliveries(state, account.id)?,
    }))
}

fn is_low(state: &AppState, available: Amount) -> bool {
    let prices = Tier::ALL
        .iter()
        .flat_map(|tier| &state.catalog.offer(*tier).prices);
    let dearest = prices.map(|(_, price)| *price).max().unwrap_or_default();
    let mut needed = Amount::ZERO;
    for _ in 0..LOW {
        needed = needed.plus(dearest).unwrap_or(needed);
    }
    available < needed
}

fn spent_by_day(
    state: &AppState,
    account: AccountId,
    first: i64,
) -> Result<BTreeMap<i64, Amount>, StoreError> {
    let mut days: BTreeMap<i64, Amount> = BTreeMap::new();
    let (mut after, mut looked_at) = (None, 0);
    loop {
        let page = state.store.ledger(account, STEP, after)?;
        for entry in &page.items {
            let day = entry.created_at.millis().div_euclid(DAY_MILLIS);
            if day < first {
                return Ok(days);
            }
            if entry.kind == EntryKind::Charge {
                let sum = days.entry(day).or_default();
                *sum = sum.plus(entry.amount.negated()).unwrap_or(*sum);
            }
        }
        looked_at += page.items.len();
        after = page.next;
        if after.is_none() || looked_at >= MOST {
            return Ok(days);
        }
    }
}

/// Done and failed jobs by the day on which they ended.
fn ended_by_day(
    state: &AppState,
    account: AccountId,
    first: i64,
) -> Result<BTreeMap<i64, (usize, usize)>, StoreError> {
    let window = JobWindow {
        limit: MOST,
        after: None,
        since: Some(Timestamp::from_millis(first * DAY_MILLIS)),
        most: MOST,
    };
    let ended = |job: &Job| job.state.is_terminal();
    let page = state.store.sifted_jobs_of(account, window, ended)?;
    let mut days: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for job in &page.items {
        let mut count = |at: Timestamp, is_done: bool| {
            let day = days.entry(at.millis().div_euclid(DAY_MILLIS)).or_default();
            *(if is_done { &mut day.0 } else { &mut day.1 }) += 1;
        };
        match &job.state {
            JobState::Done { finished_at, .. } => count(*finished_at, true),
            JobState::Failed { finished_at, .. } => count(*finished_at, false),
            JobState::Queued | JobState::Processing { .. } => {}
        }
    }
    Ok(days)
}

/// Of the newest deliveries: how many wait for an attempt, how many of those have failed before, how many were given up.
fn deliveries(state: &AppState, account: AccountId) -> Result<Value, StoreError> {
    let (mut pending, mut retrying, mut failed) = (0, 0, 0);
    for delivery in state.store.deliveries_of(account, STEP, None)?.items {
        match delivery.state {
            DeliveryState::Pending { .. } => {
                pending += 1;
                retrying += usize::from(delivery.attempts > 0);
            }
            DeliveryState::Failed { .. } => failed += 1,
            DeliveryState::Delivered { .. } => {}
        }
    }
    let registered = state.store.webhooks(account)?.len();
    Ok(json!({
        "registered": registered,
        "pending": pending,
        "retrying": retrying,
        "failed": failed,
    }))
}
