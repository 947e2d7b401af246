//! Usage as JSON and as CSV.

use super::chart_view::{day_figures, figures};
use super::names::Names;
use crate::application::core::Core;
use crate::application::settings::Settings;
use crate::application::usage::Sums;
use crate::csv_text::quote;
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;
use tintype_storage::domain::daily_usage::ModelUsage;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// The header without the columns of the account.
pub const CSV_HEAD: &str = "day,key_id,key_name,model,resolution,done,failed,spent,currency\r\n";

/// The sums, with a line for each of the days, which must cover the sums.
pub fn sums(sums: &Sums, days: RangeInclusive<i64>) -> Value {
    let day = |day: i64| {
        let mut view = day_figures(sums, day);
        let spent = |tier: &Tier| {
            let usage = sums.day_models.get(&(day, *tier)).copied();
            let spent = usage.unwrap_or_default().spent.to_string();
            (tier.as_str().to_owned(), json!(spent))
        };
        view["models"] = Value::Object(Tier::ALL.iter().map(spent).collect::<Map<_, _>>());
        view
    };
    let models = sums.models.iter().map(|((tier, resolution), totals)| {
        let mut line = figures(totals);
        line["model"] = json!(tier.as_str());
        line["resolution"] = json!(resolution.as_str());
        line
    });
    json!({
        "total": figures(&sums.total),
        "days": days.map(day).collect::<Vec<_>>(),
        "models": models.collect::<Vec<_>>(),
    })
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
