//! Options and output that all operator commands share.

use super::operator::{Listed, Operator};
use super::operator_access::Access;
use super::output::{print, print_json, table};
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::process::ExitCode;
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
    pub fn show(
        &self,
        answer: Value,
        text: impl FnOnce(Value) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        if self.json {
            return print_json(&answer);
        }
        print(&text(answer)?)
    }

    /// Prints a list, as JSON or as a table with a row for each entry. The cursor of the rest goes to standard error, so that it is
    /// not mistaken for a row.
    pub fn show_list(
        &self,
        Listed { entries, next }: Listed,
        heads: &[&str],
        row: impl Fn(Value) -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<()> {
        if self.json {
            return print_json(&json!({"data": entries, "next_cursor": next}));
        }
        let rows = entries.into_iter().map(row).collect::<Result<_, _>>()?;
        print(&table(heads, rows))?;
        print_cursor(next.as_deref());
        Ok(())
    }
}

/// Prints the cursor of the rest of a list on standard error.
pub fn print_cursor(next: Option<&str>) {
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
