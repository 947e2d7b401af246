//! Options that limit an account, and their request body.

use super::key_options::{insert_call_limits, insert_option};
use clap::Args;
use serde_json::{Map, Value};

/// Limits for all API keys of an account together. The value `none` removes a limit.
#[derive(Args, Default)]
pub struct LimitOptions {
    /// Spend limit per UTC day (none: no limit).
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    spend_per_day: Option<String>,
    /// Spend limit per UTC calendar month (none: no limit).
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    spend_per_month: Option<String>,
    /// Sustained requests per second and burst size, such as 5/10 (none: no limit).
    #[arg(long, value_name = "RATE/BURST")]
    rate_limit: Option<String>,
    /// Maximum number of live jobs, which are queued or processing (none: max_live_per_account in [jobs] of the configuration).
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    max_concurrent: Option<String>,
}

impl LimitOptions {
    /// # Errors
    /// A rate or number is invalid. The server validates all other values.
    pub fn body(self) -> anyhow::Result<Map<String, Value>> {
        let mut body = Map::new();
        let plain = |text: &str| Ok(Value::from(text));
        insert_option(&mut body, "spend_per_day", self.spend_per_day, plain)?;
        insert_option(&mut body, "spend_per_month", self.spend_per_month, plain)?;
        insert_call_limits(&mut body, self.rate_limit, self.max_concurrent)?;
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_given_limit_is_set_and_none_removes_it() {
        let some = |text: &str| Some(text.to_owned());
        let options = LimitOptions {
            spend_per_day: some("5.00"),
            spend_per_month: some("none"),
            rate_limit: some("5/10"),
            max_concurrent: some("20"),
        };
        let expected = json!({
            "spend_per_day": "5.00", "spend_per_month": null,
            "rate_limit": {"per_second": 5, "burst": 10}, "max_concurrent": 20
        });
        assert_eq!(Value::Object(options.body().unwrap()), expected);
        assert!(LimitOptions::default().body().unwrap().is_empty());
        let wrong = LimitOptions {
            max_concurrent: some("many"),
            ..LimitOptions::default()
        };
        let error = wrong.body().unwrap_err().to_string();
        assert!(error.contains("--max-concurrent `many`"), "{error}");
    }
}
