//! A chart as JSON.

use crate::application::usage::Sums;
use crate::application::usage::hourly::HourlyUsage;
use serde_json::{Value, json};
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::time::Timestamp;

#[derive(Clone)]
pub struct Chart {
    /// Oldest first.
    pub bars: Vec<Value>,
    /// Set if earlier jobs of the span were not read.
    pub since: Option<Timestamp>,
}

impl Chart {
    pub fn of_hours(usage: &HourlyUsage) -> Self {
        let hour = |(start, totals): &(Timestamp, UsageTotals)| {
            let mut view = figures(totals);
            view["hour"] = json!(start.to_string());
            view
        };
        Self {
            bars: usage.hours.iter().map(hour).collect(),
            since: usage.since,
        }
    }

    pub fn put_into(self, view: &mut Value) {
        view["days"] = json!(self.bars);
        if let Some(since) = self.since {
            view["days_since"] = json!(since.to_string());
        }
    }
}

/// The figures of a UTC day, which counts from 1970.
pub fn day_figures(sums: &Sums, day: i64) -> Value {
    let mut view = figures(&sums.days.get(&day).copied().unwrap_or_default());
    view["day"] = json!(Timestamp::of_day(day).date());
    view
}

pub fn figures(sums: &UsageTotals) -> Value {
    json!({
        "spent": sums.spent.to_string(),
        "done": sums.done,
        "failed": sums.failed,
    })
}
