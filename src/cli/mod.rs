//! The command line.

mod account;
mod audit_log;
mod backend;
mod backup;
mod batch;
mod check_config;
mod common;
mod completions;
mod data_dir_init;
mod delivery;
mod deposit;
mod export;
mod generate;
mod http_client;
mod import;
mod job;
mod key;
mod key_options;
mod limit_options;
mod listen;
mod move_records;
mod native_client;
mod node;
mod operator;
mod operator_access;
mod output;
mod pause;
mod person;
mod probe;
mod progress;
mod record_source;
mod refusal;
mod restore;
mod schema;
mod serve;
mod settings;
mod stats;
mod umask;
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
    /// Generate one image from a prompt and save it.
    Generate(generate::Arguments),
    /// List, open, rename and deactivate accounts; show their ledgers.
    #[command(subcommand)]
    Account(account::Command),
    /// Invite people to the panel of an account; change and remove them.
    #[command(subcommand)]
    Person(person::Command),
    /// Add funds to an account.
    #[command(subcommand)]
    Deposit(deposit::Command),
    /// Create, limit, rotate and remove API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// List and show jobs; cancel queued jobs.
    #[command(subcommand)]
    Job(job::Command),
    /// Submit many requests in one call; follow and cancel batches, and download their images.
    #[command(subcommand)]
    Batch(batch::Command),
    /// Pause or resume everything or one model.
    #[command(subcommand)]
    Pause(pause::Command),
    /// List and test back ends.
    #[command(subcommand)]
    Backend(backend::Command),
    /// List the nodes of a running service.
    #[command(subcommand)]
    Node(node::Command),
    /// Show queues, throughput, back ends and webhooks of a running server.
    Stats(common::Common),
    /// Show who changed what.
    #[command(subcommand)]
    Audit(audit_log::Command),
    /// Register, test and receive webhooks.
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// List and show webhook deliveries; send them again.
    #[command(subcommand)]
    Delivery(delivery::Command),
    /// Verify the signatures of a saved delivery.
    WebhookVerify(webhook_verify::Arguments),
    /// Check the ledger, jobs and images of a stopped data directory, a database or a backup.
    Verify(verify::Arguments),
    /// Back up a service, running or stopped, to a directory or a bucket.
    Backup(backup::Arguments),
    /// Restore a backup into an empty data directory.
    Restore(restore::Arguments),
    /// Export all records of a service, running or stopped, as lines of JSON.
    Export(export::Arguments),
    /// Import an export into an empty data directory.
    Import(import::Arguments),
    /// Move all records and pictures into a database that several nodes can share, or back into a data directory.
    Move(move_records::Arguments),
    /// Print the statements that make the tables of a PostgreSQL database.
    Schema,
    /// Check the configuration and print the effective values, secrets masked.
    CheckConfig(check_config::Arguments),
    /// Print a built-in ComfyUI workflow as a starting point for your own.
    Workflow(workflow::Arguments),
    /// Print the completion script for a shell.
    Completions(completions::Arguments),
}

/// Parses the command line and runs the command.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    umask::restrict_to_owner();
    let outcome = match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Account(command) => account::run(command),
        Command::Person(command) => person::run(command),
        Command::Deposit(command) => deposit::run(command),
        Command::Key(command) => key::run(command),
        Command::Job(command) => job::run(command),
        Command::Batch(command) => batch::run(command),
        Command::Pause(command) => pause::run(command),
        Command::Backend(command) => backend::run(command),
        Command::Node(command) => node::run(command),
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
        Command::Move(arguments) => move_records::run(arguments),
        Command::Schema => schema::run(),
        Command::CheckConfig(arguments) => check_config::run(arguments),
        Command::Workflow(arguments) => workflow::run(arguments),
        Command::Completions(arguments) => completions::run::<Cli>(arguments),
    };
    outcome.unwrap_or_else(|error| {
        // If standard error is closed as well, the exit code is the only report.
        let _ = writeln!(std::io::stderr(), "tintype: {}", error_line(&error));
        ExitCode::FAILURE
    })
}

/// An error with its causes, without the causes that its text already contains.
fn error_line(error: &anyhow::Error) -> String {
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
    fn each_cause_is_printed_once() {
        let inner = std::io::Error::other("no space left");
        let outer = anyhow::Error::new(inner).context("the directory: no space left");
        assert_eq!(error_line(&outer), "the directory: no space left");
        let plain = anyhow::anyhow!("no space left").context("the directory");
        assert_eq!(error_line(&plain), "the directory: no space left");
    }
}
