//! The command line.

mod check_config;
mod client;
mod delivery;
mod exchange;
mod generate;
mod listen;
mod operator;
mod operator_access;
mod output;
mod probe;
mod recorded;
mod serve;
mod settings;
mod verdict;
mod verify;
mod webhook;
mod webhook_verify;

use clap::{Parser, Subcommand};
use std::io::Write as _;
use std::process::ExitCode;

/// A self-hosted server that turns prompts into pictures asynchronously.
#[derive(Parser)]
#[command(name = "tintype", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service.
    Serve(serve::Arguments),
    /// Make a picture from a prompt and save it.
    Generate(generate::Arguments),
    /// Register, test and watch webhooks.
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Look at what was sent to webhooks, and send it again.
    #[command(subcommand)]
    Delivery(delivery::Command),
    /// Check the signatures of a delivery that was kept.
    WebhookVerify(webhook_verify::Arguments),
    /// Check a stopped data directory: books, jobs and pictures.
    Verify(verify::Arguments),
    /// Check the configuration and print what is in effect, secrets masked.
    CheckConfig(check_config::Arguments),
}

/// Runs the command that was asked for.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Webhook(command) => webhook::run(command),
        Command::Delivery(command) => delivery::run(command),
        Command::WebhookVerify(arguments) => webhook_verify::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::CheckConfig(arguments) => check_config::run(arguments),
    };
    outcome.unwrap_or_else(|error| {
        // Where standard error is gone too, the exit code has to say it all.
        let _ = writeln!(std::io::stderr(), "tintype: {error:#}");
        ExitCode::FAILURE
    })
}
