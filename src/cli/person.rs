//! `tintype person ...`: the people who sign in to the panel for an account.

use super::common::{Common, OfAccount, block_on, or_dash};
use super::operator::Operator;
use super::output::facts;
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;
use tintype_api::Person;
use tintype_storage::domain::person::PersonId;

/// What to do with people.
#[derive(Subcommand)]
pub enum Command {
    /// List the people of an account, oldest first.
    List(OfAccount),
    /// Invite a person and print the link for choosing a password. It is shown only once.
    Invite(Invite),
    /// Show a person.
    Show(One),
    /// Change the role of a person.
    Change(Change),
    /// Create a new link for a forgotten or leaked password.
    Link(Link),
    /// End all sessions of a person.
    SignOut(One),
    /// Remove a person and end their sessions.
    Rm(One),
}

/// Options of `person invite`.
#[derive(Args)]
pub struct Invite {
    /// Email address for signing in.
    email: String,
    /// Role: an owner can make changes, a viewer can only read.
    #[arg(long, value_parser = ["owner", "viewer"])]
    role: String,
    /// The account, by id or name [default: the only one].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Options of what is done with one person.
#[derive(Args)]
pub struct One {
    /// The person's id.
    id: PersonId,
    /// The account, by id or name [default: the only one].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Options of `person change`.
#[derive(Args)]
pub struct Change {
    #[command(flatten)]
    one: One,
    /// Role: an owner can make changes, a viewer can only read.
    #[arg(long, value_parser = ["owner", "viewer"])]
    role: String,
}

/// Options of `person link`.
#[derive(Args)]
pub struct Link {
    #[command(flatten)]
    one: One,
    /// Revoke the current password and end all sessions now.
    #[arg(long)]
    revoke: bool,
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::List(arguments) => list(arguments).await,
            Command::Invite(arguments) => invite(arguments).await,
            Command::Show(one) => {
                let (operator, path) = one.open().await?;
                one.common.show(operator.get(&path).await?, shown)
            }
            Command::Change(Change { one, role }) => {
                let (operator, path) = one.open().await?;
                let answer = operator.patch(&path, json!({"role": role})).await?;
                one.common.show(answer, shown)
            }
            Command::Link(Link { one, revoke }) => {
                let (operator, path) = one.open().await?;
                let path = format!("{path}/invitation");
                let body = json!({"revoke": revoke});
                let answer = operator.post(&path, Some(body)).await?;
                one.common.show(answer, shown)
            }
            Command::SignOut(one) => {
                let (operator, path) = one.open().await?;
                let answer = operator.delete(&format!("{path}/sessions")).await?;
                one.common.done(&answer, &format!("signed out {}", one.id))
            }
            Command::Rm(one) => {
                let (operator, path) = one.open().await?;
                let answer = operator.delete(&path).await?;
                one.common.done(&answer, &format!("removed {}", one.id))
            }
        }
    })
}

impl One {
    /// The server, and the person's path.
    async fn open(&self) -> anyhow::Result<(Operator, String)> {
        let operator = self.common.operator()?;
        let below = format!("/people/{}", self.id);
        let path = operator.account_path(self.account.as_deref(), &below);
        let path = path.await?;
        Ok((operator, path))
    }
}

async fn list(of: OfAccount) -> anyhow::Result<()> {
    let heads = ["PERSON", "CREATED", "ROLE", "STATUS", "LINK UNTIL", "EMAIL"];
    let all = of.whole("/people").await?;
    of.common.show_list(all, heads, |it: Person| {
        [
            it.person_id.into(),
            it.created_at.into(),
            it.role.into(),
            it.status.into(),
            or_dash(it.invitation_expires_at),
            it.email,
        ]
    })
}

async fn invite(arguments: Invite) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = arguments.account.as_deref();
    let path = operator.account_path(account, "/people").await?;
    let body = json!({"email": arguments.email, "role": arguments.role});
    let answer = operator.post(&path, Some(body)).await?;
    arguments.common.show(answer, shown)
}

fn shown(it: Person) -> String {
    facts(&[
        ("person", Some(&it.person_id)),
        ("account", Some(&it.account_id)),
        ("email", Some(&it.email)),
        ("role", Some(&it.role)),
        ("status", Some(&it.status)),
        ("link", it.invitation_url.as_deref()),
        ("link until", it.invitation_expires_at.as_deref()),
        ("created", Some(&it.created_at)),
    ])
}
