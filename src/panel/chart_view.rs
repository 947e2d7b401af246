//! A chart as JSON.

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
    pub fn put_into(self, view: &mut Value) {
        view["days"] = json!(self.bars);
        if let Some(since) = self.since {
            view["days_since"] = json!(since.to_string());
        }
    }
}

pub fn figures(sums: &UsageTotals) -> Value {
    json!({
        "spent": sums.spent.to_string(),
        "done": sums.done,
        "failed": sums.failed,
    })
}
