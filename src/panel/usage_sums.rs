//! Sums daily usage, of one or many accounts, and formats it as CSV.

use super::chart_view::figures;
use super::names::Names;
use crate::application::core::Core;
use crate::application::settings::Settings;
use crate::csv_text::quote;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use tintype_storage::domain::daily_usage::{DailyUsage, ModelUsage, UsageTotals};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// The header without the columns of the account.
pub const CSV_HEAD: &str = "day,key_id,key_name,model,resolution,done,failed,spent,currency\r\n";

#[derive(Default)]
pub struct Sums {
    total: UsageTotals,
    days: BTreeMap<i64, UsageTotals>,
    models: BTreeMap<(Tier, Resolution), UsageTotals>,
    day_models: BTreeMap<(i64, Tier), UsageTotals>,
}

impl Sums {
    /// Adds the usage of a key on a UTC day.
    pub fn add(&mut self, day: i64, usage: &DailyUsage) {
        self.total.add(usage.totals());
        self.days.entry(day).or_default().add(usage.totals());
        for it in &usage.models {
            let model = self.models.entry((it.tier, it.resolution));
            model.or_default().add(it.totals);
            let day_model = self.day_models.entry((day, it.tier));
            day_model.or_default().add(it.totals);
        }
    }

    /// The sums, with a line for each of the days. All that was added must be of these days.
    pub fn view(&self, days: RangeInclusive<i64>) -> Value {
        let day = |day: i64| {
            let mut view = figures(&self.days.get(&day).copied().unwrap_or_default());
            view["day"] = json!(Timestamp::of_day(day).date());
            let spent = |tier: &Tier| {
                let usage = self.day_models.get(&(day, *tier)).copied();
                let spent = usage.unwrap_or_default().spent.to_string();
                (tier.as_str().to_owned(), json!(spent))
            };
            view["models"] = Value::Object(Tier::ALL.iter().map(spent).collect::<Map<_, _>>());
            view
        };
        let models = self.models.iter().map(|((tier, resolution), totals)| {
            let mut line = figures(totals);
            line["model"] = json!(tier.as_str());
            line["resolution"] = json!(resolution.as_str());
            line
        });
        json!({
            "total": figures(&self.total),
            "days": days.map(day).collect::<Vec<_>>(),
            "models": models.collect::<Vec<_>>(),
        })
    }
}

/// The lines of an account on some days, each with `prefix`. Blocks on reads of the store.
pub fn csv_lines(
    core: &Core,
    settings: &Settings,
    account: AccountId,
    days: RangeInclusive<i64>,
    prefix: &str,
    names: &mut Names,
) -> Result<String, StoreError> {
    let mut text = String::new();
    let read = core
        .store
        .each_daily_usage(account, days, |position, usage| {
            let name = names.key(core, position.key).wait()?;
            let name = name.map(|it| it.name).unwrap_or_default();
            for ModelUsage {
                tier,
                resolution,
                totals,
            } in usage.models
            {
                let fields = [
                    Timestamp::of_day(position.day).date(),
                    position.key.to_string(),
                    quote(&name),
                    tier.as_str().to_owned(),
                    resolution.as_str().to_owned(),
                    totals.done.to_string(),
                    totals.failed.to_string(),
                    totals.spent.to_string(),
                    quote(&settings.config.billing.currency),
                ];
                text += &format!("{prefix}{}\r\n", fields.join(","));
            }
            Ok(())
        });
    read.wait()?;
    Ok(text)
}
