//! The overview page: balance, jobs, deliveries and charts of an account.

use super::Panel;
use super::{charts, stats};
use crate::api::responses;
use crate::application::accounts::api_keys::MAX_KEYS;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::operations::pause;
use crate::application::settings::Settings;
use crate::web::auth::access::OfAccount;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::delivery::{Delivery, DeliveryKind, DeliveryState, FailReason};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::{PANEL_KEYS, PEOPLE};

/// Only this many of the newest deliveries are counted.
const DELIVERIES: usize = 1_000;
/// The balance is low when it pays for fewer images than this at the highest price.
const LOW_IMAGES: usize = 10;

pub async fn show(
    of: OfAccount,
    request: HttpRequest,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
    panel: web::Data<Panel>,
) -> HttpResult {
    let span = charts::span_param(&request)?;
    let depths = core.system.queue().depths();
    let (shared, account, read) = (core.clone(), of.account.clone(), settings.clone());
    let mut view = blocking(move || figures(&shared, &read, &account)).await?;
    let inner = core.clone().into_inner();
    let chart = charts::read(panel.clone(), inner, of.account.id, None, span);
    chart.await?.put_into(&mut view);
    view["queue"] = json!({
        "waiting": depths.queued.iter().sum::<usize>(),
        "running": depths.running,
    });
    view["paused"] = describe_pause(&pause::current(&core).await?);
    let account = of.account.id;
    view["limits"] = json!(responses::account(&core, of.account).await?.limits);
    if of.caller.is_operator() {
        let people = PEOPLE.page(&core.store, &account, 1, None).await?;
        view["has_people"] = json!(!people.items.is_empty());
        let figures = stats::figures(core.clone(), settings, panel).await?;
        // With several nodes, the database is backed up instead.
        if core.system.node().is_none() {
            view["backup"] = json!({"taken": !figures["last_export_at"].is_null()});
        }
        view["service"] = figures;
    }
    Ok(HttpResponse::Ok().json(view))
}

fn describe_pause(pause: &Pause) -> Value {
    let tiers = Tier::ALL.iter().filter(|tier| pause.covers(**tier));
    let tier = |tier: &Tier| json!({"id": tier.as_str(), "reason": pause.reason(*tier)});
    json!({
        "project": pause.project,
        "reason": pause.reasons.project,
        "tiers": tiers.map(tier).collect::<Vec<_>>(),
    })
}

fn figures(core: &Core, settings: &Settings, account: &Account) -> Result<Value, StoreError> {
    let live = core.system.queue().depths_of(account.id);
    let balances = &account.balances;
    Ok(json!({
        "active": account.active,
        "created_at": account.created_at.to_string(),
        "money": {
            "balance": balances.balance.to_string(),
            "reserved": balances.reserved.to_string(),
            "available": balances.available().to_string(),
            "low": is_low(settings, account),
            "below": account.low_balance.filter(|_| account.is_low()).map(|it| it.to_string()),
        },
        "jobs": {"queued": live.queued.iter().sum::<usize>(), "processing": live.running},
        "keys": active_keys(core, account.id)?,
        "today": charts::today(core, account.id)?,
        "webhooks": deliveries(core, account.id)?,
    }))
}

/// Counts the active keys without the panel's own key.
fn active_keys(core: &Core, account: AccountId) -> Result<usize, StoreError> {
    let panel = PANEL_KEYS.get(&core.store, &account).wait()?;
    let keys = core.store.keys_of(account, MAX_KEYS + 1, None);
    let keys = keys.wait()?.items;
    let own = keys.iter().filter(|it| it.active && Some(it.id) != panel);
    Ok(own.count())
}

/// Less than the account's own threshold is available, or less than [`LOW_IMAGES`] cost.
pub fn is_low(settings: &Settings, account: &Account) -> bool {
    let prices = Tier::ALL
        .iter()
        .flat_map(|tier| &settings.catalog.tier(*tier).prices);
    let Some(dearest) = prices.map(|(_, price)| *price).max() else {
        return false;
    };
    let mut needed = Amount::ZERO;
    for _ in 0..LOW_IMAGES {
        needed = needed.plus(dearest).unwrap_or(needed);
    }
    account.is_low() || account.balances.available() < needed
}

/// Counts the newest deliveries by state: pending, pending after a failed attempt, and failed after all attempts. `all` says whether
/// these are all deliveries.
///
/// `failed` counts only what the account's people can send again: events whose webhook is still registered.
fn deliveries(core: &Core, account: AccountId) -> Result<Value, StoreError> {
    let (mut pending, mut retrying, mut failed) = (0, 0, 0);
    let newest = core.store.deliveries_of(account, DELIVERIES, None).wait()?;
    let all = newest.next.is_none();
    let registered = core.store.webhooks(account).wait()?;
    let can_resend = |delivery: &Delivery| {
        delivery.kind != DeliveryKind::Test && registered.iter().any(|it| it.id == delivery.webhook)
    };
    for delivery in newest.items {
        match delivery.state {
            DeliveryState::Pending { .. } => {
                pending += 1;
                retrying += usize::from(delivery.attempts > 0);
            }
            DeliveryState::Failed {
                reason: FailReason::AttemptsExhausted,
                ..
            } if can_resend(&delivery) => failed += 1,
            DeliveryState::Failed { .. } | DeliveryState::Delivered { .. } => {}
        }
    }
    Ok(json!({
        "registered": registered.len(),
        "pending": pending,
        "retrying": retrying,
        "failed": failed,
        "all": all,
    }))
}
