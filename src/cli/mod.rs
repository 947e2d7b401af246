//! The command line.

mod account;
mod audit_log;
mod backup;
mod check_config;
mod client;
mod common;
mod completions;
mod delivery;
mod deposit;
mod exchange;
mod export;
mod filling;
mod generate;
mod import;
mod job;
mod key;
mod key_options;
mod listen;
mod operator;
mod operator_access;
mod output;
mod pause;
mod person;
mod private;
mod probe;
mod progress;
mod recorded;
mod records;
mod restore;
mod serve;
mod settings;
mod stats;
mod verdict;
mod verify;
mod verify_backup;
mod webhook;
mod webhook_verify;
mod workflow;

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
    /// Look at accounts and their money, and open new ones.
    #[command(subcommand)]
    Account(account::Command),
    /// Invite people to the panel of an account, and sign them out.
    #[command(subcommand)]
    Person(person::Command),
    /// Add money to an account.
    #[command(subcommand)]
    Deposit(deposit::Command),
    /// Make, limit, rotate and remove API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// Look at jobs, and cancel those that wait.
    #[command(subcommand)]
    Job(job::Command),
    /// Pause the project or a model, and take it up again.
    #[command(subcommand)]
    Pause(pause::Command),
    /// Show queues, throughput, back ends and webhooks of a running server.
    Stats(common::Common),
    /// Look at who changed what.
    #[command(subcommand)]
    Audit(audit_log::Command),
    /// Register, test and watch webhooks.
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Look at what was sent to webhooks, and send it again.
    #[command(subcommand)]
    Delivery(delivery::Command),
    /// Check the signatures of a delivery that was kept.
    WebhookVerify(webhook_verify::Arguments),
    /// Check a stopped data directory, or a backup: books, jobs and pictures.
    Verify(verify::Arguments),
    /// Copy everything, of a running service too, to a directory or a bucket.
    Backup(backup::Arguments),
    /// Put a backup into an empty data directory.
    Restore(restore::Arguments),
    /// Write all records, of a running service too, as lines of JSON.
    Export(export::Arguments),
    /// Take an export into an empty data directory.
    Import(import::Arguments),
    /// Check the configuration and print what is in effect, secrets masked.
    CheckConfig(check_config::Arguments),
    /// Print a workflow for ComfyUI that is built in, to make your own from.
    Workflow(workflow::Arguments),
    /// Print what a shell needs to complete these commands.
    Completions(completions::Arguments),
}

/// Runs the command that was asked for.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    private::make_private();
    let outcome = match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Account(command) => account::run(command),
        Command::Person(command) => person::run(command),
        Command::Deposit(command) => deposit::run(command),
        Command::Key(command) => key::run(command),
        Command::Job(command) => job::run(command),
        Command::Pause(command) => pause::run(command),
        Command::Stats(common) => stats::run(common),
        Command::Audit(command) => audit_log::run(command),
        Command::Webhook(command) => webhook::run(command),
        Command::Delivery(command) => delivery::run(command),
        Command::WebhookVerify(arguments) => webhook_verify::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Backup(arguments) => backup::run(arguments),
        Command::Restore(arguments) => restore::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Import(arguments) => import::run(arguments),
        Command::CheckConfig(arguments) => check_config::run(arguments),
        Command::Workflow(arguments) => workflow::run(arguments),
        Command::Completions(arguments) => completions::run::<Cli>(arguments),
    };
    outcome.unwrap_or_else(|error| {
        // Where standard error is gone too, the exit code has to say it all.
        let _ = writeln!(std::io::stderr(), "tintype: {}", told(&error));
        ExitCode::FAILURE
    })
}

/// An error with its causes, but for those whose words have been said already.
fn told(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| {
        let words = cause.to_string();
        match said.contains(&words) {
            true => said,
            false if said.is_empty() => words,
            false => format!("{said}: {words}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once() {
        let inner = std::io::Error::other("no space left");
        let outer = anyhow::Error::new(inner).context("the directory: no space left");
        assert_eq!(told(&outer), "the directory: no space left");
        let plain = anyhow::anyhow!("no space left").context("the directory");
        assert_eq!(told(&plain), "the directory: no space left");
    }
}
