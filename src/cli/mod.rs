//! The `tintype` command: one module for each subcommand, and what they share.

// These macros panic on a closed pipe. Use the functions of `output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod batch_id;
mod commands;
mod common;
mod data_dir_init;
mod http_client;
mod image_format;
mod key_options;
mod key_ref;
mod limit_options;
mod native_client;
mod object_check;
mod operator;
mod operator_access;
mod option_names;
mod output;
mod output_file;
mod polling;
mod problem_text;
mod progress;
mod record_source;
mod server_url;
mod settings;
mod stop_signal;
mod umask;
mod webhook_ref;

use self::commands::{
    account, audit_log, backend, backup, batch, check_config, completions, delivery, deposit,
    export, generate, import, job, key, move_records, node, pause, person, restore, schema, serve,
    stats, verify, webhook, webhook_verify, workflow,
};
use crate::observability::log;
use actix_web::rt::System;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Self-hosted image generation server, and the tools to operate it.
#[derive(Parser)]
#[command(name = "tintype", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server.
    Serve(serve::Arguments),
    /// Generate one image from a prompt and save it.
    Generate(generate::Arguments),
    /// Manage accounts and their limits; show their ledgers.
    #[command(subcommand)]
    Account(account::Command),
    /// Manage the people who sign in to the panel of an account.
    #[command(subcommand)]
    Person(person::Command),
    /// Add funds to an account.
    #[command(subcommand)]
    Deposit(deposit::Command),
    /// Create, limit, rotate and delete API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// List and show jobs; cancel queued jobs; erase their content.
    #[command(subcommand)]
    Job(job::Command),
    /// Submit, follow and cancel batches of requests; download their images.
    #[command(subcommand)]
    Batch(batch::Command),
    /// Pause or resume everything or one model.
    #[command(subcommand)]
    Pause(pause::Command),
    /// List, test, pause and resume backends.
    #[command(subcommand)]
    Backend(backend::Command),
    /// List the nodes of a running server.
    #[command(subcommand)]
    Node(node::Command),
    /// Show queues, throughput, backends and webhooks of a running server.
    Stats(common::Common),
    /// Show the audit log: who changed what, and when.
    #[command(subcommand)]
    Audit(audit_log::Command),
    /// Manage and test webhooks; receive deliveries on this machine.
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// List and show webhook deliveries; redeliver them.
    #[command(subcommand)]
    Delivery(delivery::Command),
    /// Verify the signatures of a saved delivery.
    WebhookVerify(webhook_verify::Arguments),
    /// Verify that the records and images of a stopped data directory, a database or a backup are consistent.
    Verify(verify::Arguments),
    /// Back up a running or stopped server to a directory or a bucket.
    Backup(backup::Arguments),
    /// Restore a backup into an empty data directory, or into the empty database and the bucket of [storage].
    Restore(restore::Arguments),
    /// Export all records of a running or stopped server as JSON Lines.
    Export(export::Arguments),
    /// Import an export into an empty data directory, or into the empty database of [storage].
    Import(import::Arguments),
    /// Move all records and images to a database that several nodes share, or back to a data directory.
    Move(move_records::Arguments),
    /// Print the SQL that creates the tables of a PostgreSQL database.
    Schema,
    /// Validate the configuration and print its effective values, with secrets masked.
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
        Command::Account(command) => block_on(account::run(command)),
        Command::Person(command) => block_on(person::run(command)),
        Command::Deposit(command) => block_on(deposit::run(command)),
        Command::Key(command) => block_on(key::run(command)),
        Command::Job(command) => block_on(job::run(command)),
        Command::Batch(command) => System::new().block_on(batch::run(command)),
        Command::Pause(command) => block_on(pause::run(command)),
        Command::Backend(command) => block_on(backend::run(command)),
        Command::Node(command) => block_on(node::run(command)),
        Command::Stats(common) => block_on(stats::run(common)),
        Command::Audit(command) => block_on(audit_log::run(command)),
        Command::Webhook(command) => block_on(webhook::run(command)),
        Command::Delivery(command) => block_on(delivery::run(command)),
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
        let reason = error_line(&error);
        log::log_exit(&reason);
        output::note(&format!("tintype: {reason}"));
        ExitCode::FAILURE
    })
}

fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<ExitCode> {
    System::new().block_on(work)?;
    Ok(ExitCode::SUCCESS)
}

/// An error with its causes, without the causes that its text already contains. Errors quote servers and files, which the user may not
/// trust.
fn error_line(error: &anyhow::Error) -> String {
    let line = error.chain().fold(String::new(), |line, cause| {
        let cause = cause.to_string();
        match line.contains(&cause) {
            true => line,
            false if line.is_empty() => cause,
            false => format!("{line}: {cause}"),
        }
    });
    output::escape_lines(&line)
}

#[cfg(test)]
mod tests {
    use super::problem_text::ErrorResponse;
    use super::*;
    use clap::CommandFactory as _;
    use tintype_egress::StatusCode;

    /// Calls `visit` with every command that has no subcommands.
    fn each_command(command: &clap::Command, visit: &mut impl FnMut(&clap::Command)) {
        for it in command.get_subcommands() {
            each_command(it, visit);
        }
        if !command.is_subcommand_required_set() {
            visit(command);
        }
    }

    #[test]
    fn only_options_of_every_operator_command_have_the_heading_of_the_server() {
        let shared = ["server", "token", "config", "data_dir", "json", "key"];
        each_command(&Cli::command(), &mut |command| {
            for argument in command.get_arguments() {
                if argument.get_help_heading().is_some() {
                    let name = argument.get_id().as_str();
                    assert!(shared.contains(&name), "{} {name}", command.get_name());
                }
            }
        });
    }

    #[test]
    fn the_help_names_the_default_configuration_of_each_command() {
        let mut cli = Cli::command();
        for (command, reads_installed) in
            [("serve", false), ("check-config", false), ("verify", true)]
        {
            let command = cli.find_subcommand_mut(command).unwrap();
            let help = command.render_help().to_string();
            assert!(help.contains("./config.toml"), "{help}");
            assert_eq!(
                help.contains("/etc/tintype/config.toml"),
                reads_installed,
                "{help}"
            );
        }
    }

    #[test]
    fn each_cause_is_printed_once() {
        let inner = std::io::Error::other("no space left");
        let outer = anyhow::Error::new(inner).context("the directory: no space left");
        assert_eq!(error_line(&outer), "the directory: no space left");
        let plain = anyhow::anyhow!("no space left").context("the directory");
        assert_eq!(error_line(&plain), "the directory: no space left");
    }

    #[test]
    fn an_error_that_quotes_a_server_cannot_control_the_terminal() {
        let problem = br#"{"type":"about:blank","title":"\u001b[2JGone","status":410,"detail":"\u202e\u0007","code":"gone","request_id":"1"}"#;
        let response = ErrorResponse::new(StatusCode::GONE, problem);
        let error = anyhow::Error::new(response);
        assert_eq!(error_line(&error), "\\u{1b}[2JGone: \\u{202e}\\u{7}");
        let lines = anyhow::anyhow!("Validation failed\n  name is required");
        assert_eq!(error_line(&lines), "Validation failed\n  name is required");
    }
}
