//! `tintype check-config`: validates the configuration.

use super::output::{note, print};
use super::probe;
use super::settings::Settings;
use crate::config::{Sources, misspelt_variables};
use clap::Args;
use std::process::ExitCode;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// Test each backend with a request that generates nothing, instead of printing the configuration.
    #[arg(long)]
    probe: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.settings.load(Vec::new()) {
        Ok(config) => {
            let misspelt = misspelt_variables(&Sources::process_environment());
            for warning in config.warnings().into_iter().chain(misspelt) {
                note(&format!("warning: {warning}"));
            }
            if arguments.probe {
                return Ok(probe::run(&config));
            }
            print(&config.render())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(errors) => {
            note(&errors.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}
