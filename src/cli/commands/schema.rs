//! `tintype schema`: SQL for an administrator who creates the tables of a database.

use crate::cli::output::print;
use crate::server::engine;
use std::process::ExitCode;

pub fn run() -> anyhow::Result<ExitCode> {
    print(&engine::database_schema())?;
    Ok(ExitCode::SUCCESS)
}
