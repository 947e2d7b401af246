//! Options and output shared by all operator commands.

use super::operator::{Operator, read};
use super::operator_access::Access;
use super::output::{print, print_json, table};
use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::process::ExitCode;
use tintype_api::{Listing, Rate};
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
        match self.json {
            true => print_json(response),
            false => print(&format!("{text}\n")),
        }
    }

    /// Prints a list as JSON, or as a table. The cursor of the next page goes to standard error, so that it is not mistaken for a row.
    pub fn show_list<T: DeserializeOwned, const N: usize>(
        &self,
        list: Listing<Value>,
        headings: [&str; N],
        row: impl Fn(T) -> [String; N],
    ) -> anyhow::Result<()> {
        if self.json {
            return print_json(&json!(list));
        }
        let entries = list.data.into_iter().map(read);
        let rows = entries.map(|it| Ok(row(it?).to_vec()));
        print(&table(&headings, rows.collect::<anyhow::Result<_>>()?))?;
        print_cursor(list.next_cursor.as_deref());
        Ok(())
    }
}

/// Options of a command that lists something of one account.
#[derive(Args)]
pub struct AccountScope {
    /// The account, by id or name [default: the only active one].
    #[arg(long, value_name = "ID_OR_NAME")]
    pub account: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

impl AccountScope {
    /// All entries of a list under `/accounts/ID`.
    pub async fn list_all(&self, below: &str) -> anyhow::Result<Listing<Value>> {
        let operator = self.common.operator()?;
        let path = operator.account_path(self.account.as_deref(), below);
        operator.list_all(&path.await?).await
    }
}

fn print_cursor(next: Option<&str>) {
    if let Some(next) = next {
        // The command succeeds even if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "more results may follow; get them with --cursor {next}"
        );
    }
}

pub fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    actix_web::rt::System::new().block_on(work)?;
    Ok(ExitCode::SUCCESS)
}

/// Parses an RFC 3339 time, or a date, which means its beginning in UTC.
pub fn parse_time(text: &str) -> Result<Timestamp, String> {
    let beginning = || Timestamp::parse(&format!("{text}T00:00:00Z"));
    Timestamp::parse(text).or_else(beginning).ok_or_else(|| {
        "expected a date such as 2026-11-20 (00:00 UTC), or a time such as 2026-11-20T08:00:00Z (RFC 3339)".to_owned()
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
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11",
            "2026-11-20T00:00:00",
        ] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
