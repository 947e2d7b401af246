//! Options and output that all operator commands share.

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
    /// Print the answer of the server as JSON.
    #[arg(long)]
    pub json: bool,
}

impl Common {
    /// A client of the server.
    pub fn operator(&self) -> anyhow::Result<Operator> {
        self.access.operator()
    }

    /// Prints one answer, as JSON or as `text` formats it.
    pub fn show<T: DeserializeOwned>(
        &self,
        answer: Value,
        text: impl FnOnce(T) -> String,
    ) -> anyhow::Result<()> {
        match self.json {
            true => print_json(&answer),
            false => print(&text(read(answer)?)),
        }
    }

    /// Prints what was done with something, or the answer as JSON.
    pub fn done(&self, answer: &Value, what: &str) -> anyhow::Result<()> {
        match self.json {
            true => print_json(answer),
            false => print(&format!("{what}\n")),
        }
    }

    /// Prints a list, as JSON or as a table with a row for each entry. The cursor of the rest goes to standard error, so that it is
    /// not mistaken for a row.
    pub fn show_list<T: DeserializeOwned, const N: usize>(
        &self,
        list: Listing<Value>,
        heads: [&str; N],
        row: impl Fn(T) -> [String; N],
    ) -> anyhow::Result<()> {
        if self.json {
            return print_json(&json!(list));
        }
        let entries = list.data.into_iter().map(read);
        let rows = entries.map(|it| Ok(row(it?).to_vec()));
        print(&table(&heads, rows.collect::<anyhow::Result<_>>()?))?;
        print_cursor(list.next_cursor.as_deref());
        Ok(())
    }
}

/// Options of a list of one account.
#[derive(Args)]
pub struct OfAccount {
    /// The account, by id or name [default: the only one].
    #[arg(long, value_name = "ID_OR_NAME")]
    pub account: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

impl OfAccount {
    /// A whole list below the account.
    pub async fn whole(&self, below: &str) -> anyhow::Result<Listing<Value>> {
        let operator = self.common.operator()?;
        let path = operator.account_path(self.account.as_deref(), below);
        operator.whole(&path.await?).await
    }
}

/// Prints the cursor of the rest of a list on standard error.
fn print_cursor(next: Option<&str>) {
    if let Some(next) = next {
        // A closed standard error is no reason to fail.
        let _ = writeln!(
            io::stderr(),
            "there may be more; continue with --cursor {next}"
        );
    }
}

/// Runs the future of a command.
pub fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    actix_web::rt::System::new().block_on(work)?;
    Ok(ExitCode::SUCCESS)
}

/// Parses a time of the command line.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .ok_or_else(|| "expected a time such as 2026-11-20T00:00:00Z (RFC 3339)".to_owned())
}

/// A rate limit in words.
pub fn rate_text(rate: &Rate) -> String {
    format!("{} per second, burst {}", rate.per_second, rate.burst)
}

pub fn yes_or_no(it: bool) -> &'static str {
    match it {
        true => "yes",
        false => "no",
    }
}

/// The value, or a dash.
pub fn or_dash(value: Option<impl Into<String>>) -> String {
    value.map_or_else(|| "-".to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_rfc_3339() {
        assert_eq!(
            moment("2026-11-20T01:00:00+01:00").unwrap().to_string(),
            "2026-11-20T00:00:00.000Z"
        );
        for bad in ["", "yesterday", "2026-11-20", "2026-11-20T00:00:00"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
