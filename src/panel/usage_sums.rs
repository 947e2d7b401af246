//! Sums daily usage, of one or many accounts, and formats it as CSV.

use super::charts::figures;
use super::names::Names;
use crate::application::core::Core;
use crate::application::settings::Settings;
use crate::ledger_csv::quoted;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tintype_storage::domain::daily_usage::{DailyUsage, UsageTotals};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// The header without the columns of the account.
pub const CSV_HEAD: &str = "day,key_id,key_name,model,resolution,done,failed,spent,currency\r\n";

/// `None` counts jobs from before usage was counted per model.
type Model = Option<(Tier, Resolution)>;

#[derive(Default)]
pub struct Sums {
    total: UsageTotals,
    days: BTreeMap<i64, UsageTotals>,
    models: BTreeMap<Model, UsageTotals>,
    day_models: BTreeMap<(i64, Tier), UsageTotals>,
}

impl Sums {
    /// Adds the usage of a key on a UTC day.
    pub fn add(&mut self, day: i64, usage: &DailyUsage) {
        add(&mut self.total, usage.totals());
        add(self.days.entry(day).or_default(), usage.totals());
        for (model, totals) in by_model(usage) {
            add(self.models.entry(model).or_default(), totals);
            if let Some((tier, _)) = model {
                add(self.day_models.entry((day, tier)).or_default(), totals);
            }
        }
    }

    /// The sums of `days` days from `first`.
    pub fn view(&self, first: i64, days: i64) -> Value {
        let day = |day: i64| {
            let mut view = figures(&self.days.get(&day).copied().unwrap_or_default());
            view["day"] = json!(Timestamp::of_day(day).date());
            let spent = |tier: &Tier| {
                let usage = self.day_models.get(&(day, *tier)).copied();
                let spent = usage.unwrap_or_default().spent.to_string();
                (tier.word().to_owned(), json!(spent))
            };
            view["models"] = Value::Object(Tier::ALL.iter().map(spent).collect::<Map<_, _>>());
            view
        };
        let known = self.models.iter().filter(|(model, _)| model.is_some());
        let models = known
            .chain(self.models.get_key_value(&None))
            .map(|(model, totals)| {
                let mut line = figures(totals);
                line["model"] = json!(model.map(|it| it.0.word()));
                line["resolution"] = json!(model.map(|it| it.1.word()));
                line
            });
        json!({
            "total": figures(&self.total),
            "days": (first..first + days).map(day).collect::<Vec<_>>(),
            "models": models.collect::<Vec<_>>(),
        })
    }
}

/// Splits usage by model. Usage without a model comes last.
fn by_model(usage: &DailyUsage) -> impl Iterator<Item = (Model, UsageTotals)> {
    let parts = usage.models.iter();
    let known = parts.map(|it| (Some((it.tier, it.resolution)), it.totals));
    let rest = usage.without_model().unwrap_or_default();
    let rest = (rest != UsageTotals::default()).then_some((None, rest));
    known.chain(rest)
}

/// The lines of an account from day `first`, each with `prefix`. Blocks on reads of the store.
pub fn csv_lines(
    core: &Core,
    settings: &Settings,
    account: AccountId,
    first: i64,
    prefix: &str,
    names: &mut Names,
) -> Result<String, StoreError> {
    let mut text = String::new();
    let read = core
        .store
        .each_daily_usage_since(account, first, |position, usage| {
            let name = names.key(core, position.key)?.unwrap_or_default();
            for (model, totals) in by_model(&usage) {
                let fields = [
                    Timestamp::of_day(position.day).date(),
                    position.key.to_string(),
                    quoted(&name),
                    model.map_or("", |it| it.0.word()).to_owned(),
                    model.map_or("", |it| it.1.word()).to_owned(),
                    totals.done.to_string(),
                    totals.failed.to_string(),
                    totals.spent.to_string(),
                    settings.config.billing.currency.clone(),
                ];
                text += &format!("{prefix}{}\r\n", fields.join(","));
            }
            Ok(())
        });
    read.wait()?;
    Ok(text)
}

/// Ignores an overflow.
fn add(sum: &mut UsageTotals, usage: UsageTotals) {
    *sum = sum.plus(usage).unwrap_or(*sum);
}
