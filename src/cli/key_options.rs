//! Options that restrict an API key, and their request body.

use super::common::parse_time;
use clap::Args;
use serde_json::{Map, Value, json};

/// The value `none` removes a restriction.
#[derive(Args, Default)]
pub struct KeyOptions {
    /// Allowed models, separated by commas (none: all models).
    #[arg(long, value_name = "MODELS")]
    models: Option<String>,
    /// Expiry, such as 2030-01-31 (00:00 UTC) or 2030-01-31T12:00:00Z (none: never).
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Total spend limit (none: no limit).
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    spend_limit: Option<String>,
    /// Spend limit per UTC day (none: no limit).
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    spend_limit_daily: Option<String>,
    /// Spend limit per UTC calendar month (none: no limit).
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    spend_limit_monthly: Option<String>,
    /// Sustained requests per second and burst size, such as 5/10 (none: requests_per_second in [limits] of the configuration, which is no limit by default).
    #[arg(long, value_name = "RATE/BURST")]
    rate_limit: Option<String>,
    /// Allowed IP addresses and ranges, separated by commas (none: all addresses).
    #[arg(long, value_name = "RANGES")]
    allowed_ips: Option<String>,
    /// Maximum number of live jobs, which are queued or processing (none: no limit).
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    max_concurrent: Option<String>,
}

impl KeyOptions {
    /// # Errors
    /// A time, rate or number is invalid. The server validates all other values.
    pub fn body(self) -> anyhow::Result<Map<String, Value>> {
        let mut body = Map::new();
        let list = |text: &str| Ok(text.split(',').map(|it| it.trim().to_owned()).collect());
        let plain = |text: &str| Ok(Value::from(text));
        for (name, amount) in [
            ("spend_limit", self.spend_limit),
            ("spend_limit_daily", self.spend_limit_daily),
            ("spend_limit_monthly", self.spend_limit_monthly),
        ] {
            insert_option(&mut body, name, amount, plain)?;
        }
        insert_option(&mut body, "models", self.models, list)?;
        insert_option(&mut body, "expires_at", self.expires, expiry)?;
        insert_option(&mut body, "allowed_ips", self.allowed_ips, list)?;
        insert_call_limits(&mut body, self.rate_limit, self.max_concurrent)?;
        Ok(body)
    }
}

/// Adds the field of an option that is set. `none` becomes `null`.
pub fn insert_option(
    body: &mut Map<String, Value>,
    name: &str,
    option: Option<String>,
    parse: impl Fn(&str) -> anyhow::Result<Value>,
) -> anyhow::Result<()> {
    if let Some(text) = option {
        let value = match text.as_str() {
            "none" => Value::Null,
            text => parse(text)?,
        };
        body.insert(name.to_owned(), value);
    }
    Ok(())
}

/// Adds the limits that a key and an account can have.
pub fn insert_call_limits(
    body: &mut Map<String, Value>,
    rate_limit: Option<String>,
    max_concurrent: Option<String>,
) -> anyhow::Result<()> {
    insert_option(body, "rate_limit", rate_limit, parse_rate)?;
    insert_option(body, "max_concurrent", max_concurrent, parse_count)
}

fn expiry(text: &str) -> anyhow::Result<Value> {
    let time =
        parse_time(text).map_err(|expected| anyhow::anyhow!("--expires `{text}`: {expected}"))?;
    Ok(time.to_string().into())
}

fn parse_rate(text: &str) -> anyhow::Result<Value> {
    let numbers = text
        .split_once('/')
        .and_then(|(rate, burst)| Some((rate.parse::<u32>().ok()?, burst.parse::<u32>().ok()?)));
    let (rate, burst) = numbers.ok_or_else(|| {
        anyhow::anyhow!(
            "--rate-limit `{text}`: expected requests per second and burst size, such as 5/10"
        )
    })?;
    Ok(json!({"per_second": rate, "burst": burst}))
}

fn parse_count(text: &str) -> anyhow::Result<Value> {
    let count: u32 = text.parse().map_err(|_| {
        anyhow::anyhow!("--max-concurrent `{text}`: expected a whole number from 1 to 1,000,000")
    })?;
    Ok(count.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_option_is_set_and_none_removes_it() {
        let some = |text: &str| Some(text.to_owned());
        let options = KeyOptions {
            models: some("fast, pro"),
            expires: some("2030-01-31T13:00:00+01:00"),
            spend_limit: some("none"),
            spend_limit_daily: some("1.5"),
            rate_limit: some("5/10"),
            max_concurrent: some("3"),
            ..KeyOptions::default()
        };
        let expected = json!({
            "models": ["fast", "pro"], "expires_at": "2030-01-31T12:00:00.000Z", "spend_limit": null,
            "spend_limit_daily": "1.5", "rate_limit": {"per_second": 5, "burst": 10}, "max_concurrent": 3
        });
        assert_eq!(Value::Object(options.body().unwrap()), expected);
        assert!(KeyOptions::default().body().unwrap().is_empty());
    }

    #[test]
    fn a_bad_value_is_reported_with_its_option() {
        for bad in ["5", "5/", "a/b", "5/-1"] {
            let options = KeyOptions {
                rate_limit: Some(bad.to_owned()),
                ..KeyOptions::default()
            };
            let error = options.body().unwrap_err().to_string();
            assert!(error.contains("--rate-limit"), "{error}");
        }
        let options = KeyOptions {
            expires: Some("tomorrow".to_owned()),
            ..KeyOptions::default()
        };
        assert!(
            options
                .body()
                .unwrap_err()
                .to_string()
                .contains("--expires")
        );
    }
}
