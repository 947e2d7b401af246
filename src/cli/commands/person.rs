//! `tintype person`: people who sign in to the panel of an account.

use crate::cli::common::{AccountScope, or_dash};
use crate::cli::operator::Operator;
use crate::cli::output::{Column, field_lines};
use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::json;
use tintype_api::Person;
use tintype_storage::domain::person::PersonId;

const COLUMNS: [Column<Person>; 6] = [
    ("PERSON", |it| it.person_id.to_string()),
    ("CREATED", |it| it.created_at.to_string()),
    ("ROLE", |it| it.role.to_string()),
    ("STATUS", |it| it.status.to_string()),
    ("LINK EXPIRES", |it| {
        or_dash(it.invitation_expires_at.as_deref())
    }),
    ("EMAIL", |it| it.email.clone()),
];

#[derive(Subcommand)]
pub enum Command {
    /// List the people of an account, oldest first.
    List(AccountScope),
    /// Invite a person and print a link to set a password. It is shown only once.
    Invite(Invite),
    /// Show a person.
    Show(Target),
    /// Change the role of a person.
    Change(Change),
    /// Create a link to replace a forgotten or leaked password.
    Link(Link),
    /// End all sessions of a person.
    SignOut(Target),
    /// Delete a person and end their sessions.
    Rm(Target),
}

#[derive(Args)]
pub struct Invite {
    /// Email address to sign in with.
    email: String,
    /// Role: an owner can make changes, a viewer has read-only access.
    #[arg(long, value_parser = ["owner", "viewer"])]
    role: String,
    #[command(flatten)]
    scope: AccountScope,
}

#[derive(Args)]
pub struct Target {
    /// The person, by id or email address.
    #[arg(value_name = "ID_OR_EMAIL", value_parser = person)]
    id: String,
    #[command(flatten)]
    scope: AccountScope,
}

#[derive(Args)]
pub struct Change {
    /// Role: an owner can make changes, a viewer has read-only access.
    #[arg(long, value_parser = ["owner", "viewer"])]
    role: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct Link {
    /// Also revoke the current password and end all sessions.
    #[arg(long)]
    revoke: bool,
    #[command(flatten)]
    target: Target,
}

pub fn person(text: &str) -> Result<String, String> {
    let is_valid = text.contains('@') || text.parse::<PersonId>().is_ok();
    let expected = "expected the id or the email address of a person";
    is_valid
        .then(|| text.to_owned())
        .ok_or_else(|| expected.to_owned())
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(scope) => scope.show_list("/people", &COLUMNS).await,
        Command::Invite(arguments) => invite(arguments).await,
        Command::Show(target) => {
            let (operator, path) = target.resolve().await?;
            target
                .scope
                .common
                .show(operator.get(&path).await?, describe)
        }
        Command::Change(Change { target, role }) => {
            let (operator, path) = target.resolve().await?;
            let response = operator.patch(&path, json!({"role": role})).await?;
            target.scope.common.show(response, describe)
        }
        Command::Link(Link { target, revoke }) => {
            let (operator, path) = target.resolve().await?;
            let path = format!("{path}/invitation");
            let body = json!({"revoke": revoke});
            let response = operator.post(&path, Some(body)).await?;
            target.scope.common.show(response, describe)
        }
        Command::SignOut(target) => {
            let (operator, path) = target.resolve().await?;
            let response = operator.delete(&format!("{path}/sessions")).await?;
            let common = &target.scope.common;
            common.confirm(&response, &format!("signed out {}", target.id))
        }
        Command::Rm(target) => {
            let (operator, path) = target.resolve().await?;
            let response = operator.delete(&path).await?;
            let common = &target.scope.common;
            common.confirm(&response, &format!("deleted {}", target.id))
        }
    }
}

impl Target {
    /// The client, and the path of the person.
    async fn resolve(&self) -> anyhow::Result<(Operator, String)> {
        let (operator, people) = self.scope.path("/people").await?;
        let id = person_id(&operator, &people, &self.id).await?;
        Ok((operator, format!("{people}/{id}")))
    }
}

/// The id of a person of the account whose list of people has this path. `person` is an id or an email address.
pub async fn person_id(operator: &Operator, people: &str, person: &str) -> anyhow::Result<String> {
    if !person.contains('@') {
        return Ok(person.to_owned());
    }
    let people: Vec<Person> = operator.all(people).await?;
    let mut people = people.into_iter();
    if let Some(found) = people.find(|it| it.email.eq_ignore_ascii_case(person)) {
        return Ok(found.person_id.into());
    }
    bail!("the account has no person `{person}`; list its people with `tintype person list`")
}

async fn invite(arguments: Invite) -> anyhow::Result<()> {
    let (operator, path) = arguments.scope.path("/people").await?;
    let body = json!({"email": arguments.email, "role": arguments.role});
    let response = operator.post(&path, Some(body)).await?;
    arguments.scope.common.show(response, describe)
}

fn describe(it: Person) -> String {
    field_lines(&[
        ("person", Some(&it.person_id)),
        ("account", Some(&it.account_id)),
        ("email", Some(&it.email)),
        ("role", Some(&it.role)),
        ("status", Some(&it.status)),
        ("link", it.invitation_url.as_deref()),
        ("link expires", it.invitation_expires_at.as_deref()),
        ("created", Some(&it.created_at)),
    ])
}
