//! Options and output shared by all operator commands.

use super::operator::{Operator, read, read_all};
use super::operator_access::Access;
use super::output::{Column, print, print_as, print_json, print_page};
use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tintype_api::{Page, Rate};
use tintype_storage::domain::time::Timestamp;

/// Options of every command that calls a running server as its operator.
#[derive(Args)]
pub struct Common {
    #[command(flatten)]
    pub access: Access,
    /// Print the response as JSON.
    #[arg(long)]
    pub json: bool,
}

impl Common {
    pub fn operator(&self) -> anyhow::Result<Operator> {
        self.access.operator()
    }

    /// Prints a response as JSON, or formatted by `text`.
    pub fn show<T: DeserializeOwned>(
        &self,
        response: Value,
        text: impl FnOnce(T) -> String,
    ) -> anyhow::Result<()> {
        match self.json {
            true => print_json(&response),
            false => print(&text(read(response)?)),
        }
    }

    /// Prints a confirmation, or the response as JSON.
    pub fn confirm(&self, response: &Value, text: &str) -> anyhow::Result<()> {
        print_as(self.json, response, || format!("{text}\n"))
    }

    /// Prints a page of a list as JSON, or as a table.
    pub fn show_list<T: DeserializeOwned>(
        &self,
        list: Page<Value>,
        columns: &[Column<T>],
    ) -> anyhow::Result<()> {
        if self.json {
            return print_json(&json!(list));
        }
        let Page { data, next_cursor } = list;
        let data = read_all(data)?;
        print_page(columns, &Page { data, next_cursor })
    }
}

/// Options of a command for one account.
#[derive(Args)]
pub struct AccountScope {
    /// The account, by id or name [default: the only active one].
    #[arg(long, value_name = "ID_OR_NAME")]
    pub account: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

impl AccountScope {
    /// The client, and a path under `/accounts/ID`.
    pub async fn path(&self, below: &str) -> anyhow::Result<(Operator, String)> {
        let operator = self.common.operator()?;
        let path = operator
            .account_path(self.account.as_deref(), below)
            .await?;
        Ok((operator, path))
    }

    /// Shows all entries of a list under `/accounts/ID`.
    pub async fn show_list<T: DeserializeOwned>(
        &self,
        below: &str,
        columns: &[Column<T>],
    ) -> anyhow::Result<()> {
        let (operator, path) = self.path(below).await?;
        let all = operator.list_all(&path).await?;
        self.common.show_list(all, columns)
    }
}

/// Parses an RFC 3339 time, or a date, which means its beginning in UTC.
pub fn parse_time(text: &str) -> Result<Timestamp, String> {
    parse_time_or_date(text, "00:00:00Z")
}

/// Parses the end of a range: an RFC 3339 time, or a date, which means its last millisecond in UTC.
pub fn parse_end(text: &str) -> Result<Timestamp, String> {
    parse_time_or_date(text, "23:59:59.999Z")
}

/// `time` completes a date.
fn parse_time_or_date(text: &str, time: &str) -> Result<Timestamp, String> {
    let of_date = || Timestamp::parse(&format!("{text}T{time}"));
    Timestamp::parse(text).or_else(of_date).ok_or_else(|| {
        format!("expected a date such as 2026-11-20 ({time}), or a time such as 2026-11-20T08:00:00Z (RFC 3339)")
    })
}

pub fn rate_text(rate: &Rate) -> String {
    format!("{} per second, burst {}", rate.per_second, rate.burst)
}

pub fn yes_or_no(it: bool) -> &'static str {
    match it {
        true => "yes",
        false => "no",
    }
}

pub fn or_dash(value: Option<impl Into<String>>) -> String {
    value.map_or_else(|| "-".to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_rfc_3339_or_dates() {
        assert_eq!(
            parse_time("2026-11-20").unwrap().to_string(),
            "2026-11-20T00:00:00.000Z"
        );
        assert_eq!(
            parse_time("2026-11-20T01:00:00+01:00").unwrap().to_string(),
            "2026-11-20T00:00:00.000Z"
        );
        assert_eq!(
            parse_end("2026-11-20").unwrap().to_string(),
            "2026-11-20T23:59:59.999Z"
        );
        assert_eq!(
            parse_end("2026-11-20T00:00:00Z").unwrap().to_string(),
            "2026-11-20T00:00:00.000Z"
        );
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11",
            "2026-11-20T00:00:00",
        ] {
            assert!(parse_time(bad).is_err(), "{bad}");
            assert!(parse_end(bad).is_err(), "{bad}");
        }
    }
}
