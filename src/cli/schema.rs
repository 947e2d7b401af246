//! `tintype schema`: the tables of a database, for an administrator who makes them.

use super::output::print;
use crate::server::engine;
use std::process::ExitCode;

/// Prints the statements.
pub fn run() -> anyhow::Result<ExitCode> {
    print(&engine::database_schema())?;
    Ok(ExitCode::SUCCESS)
}
