//! `tintype webhook`: webhooks of a running server, and a local receiver for testing.

mod reset_secrets;

use super::listen;
use crate::cli::common::{AccountScope, yes_or_no};
use crate::cli::operator::body;
use crate::cli::output::{Column, escape_control_chars, field_lines};
use crate::cli::webhook_ref::WebhookRef;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tintype_api::{Delivery, Webhook};
use tintype_storage::domain::webhook::Encoding;

const COLUMNS: [Column<Webhook>; 5] = [
    ("WEBHOOK", |it| it.webhook_id.to_string()),
    ("CREATED", |it| it.created_at.to_string()),
    ("ENCODING", |it| it.encoding.to_string()),
    ("ACTIVE", |it| yes_or_no(it.active).to_owned()),
    ("URL", |it| it.url.clone()),
];

#[derive(Subcommand)]
pub enum Command {
    /// Register a URL and print its signing secret.
    Add(Add),
    /// List the webhooks of an account, oldest first; --json includes the secrets.
    List(AccountScope),
    /// Show a webhook with its secret.
    Show(Target),
    /// Change the URL or the JSON encoding of a webhook; deactivate or reactivate it.
    Change(Change),
    /// Delete a webhook. Its pending deliveries fail.
    Rm(Target),
    /// Send a test delivery to a webhook, or to the operator's webhook.
    Test(Test),
    /// Replace the secret of a webhook. The old secret also signs `webhook-signature` for 24 more hours.
    Rotate(Target),
    /// Give new secrets to the webhooks of a stopped server whose secrets cannot be decrypted, because `secrets-key` or TINTYPE_SECRET is
    /// lost.
    ResetSecrets(reset_secrets::Arguments),
    /// Receive, verify and print deliveries on this machine.
    Listen(listen::Arguments),
}

#[derive(Args)]
pub struct Add {
    /// URL that receives the deliveries. A private address must be listed in `allow` in [egress].
    url: String,
    /// JSON encoding: ascii (escaped, as Python writes it) or utf8 (as JavaScript writes it).
    #[arg(long, default_value = "ascii", value_parser = encoding)]
    encoding: Encoding,
    #[command(flatten)]
    scope: AccountScope,
}

#[derive(Args)]
#[group(required = true, multiple = true, args = ["url", "encoding", "active"])]
pub struct Change {
    /// The webhook, by id or URL.
    #[arg(value_name = "ID_OR_URL")]
    id: WebhookRef,
    /// New URL. Pending deliveries go to it; those for a callback_url with the old URL fail.
    #[arg(long)]
    url: Option<String>,
    /// JSON encoding: ascii (escaped, as Python writes it) or utf8 (as JavaScript writes it).
    #[arg(long, value_parser = encoding)]
    encoding: Option<Encoding>,
    /// Activate (true) or deactivate (false) the webhook. Deliveries to an inactive webhook fail with the reason `webhook inactive`.
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
    #[command(flatten)]
    scope: AccountScope,
}

#[derive(Args)]
pub struct Target {
    /// The webhook, by id or URL.
    #[arg(value_name = "ID_OR_URL")]
    id: WebhookRef,
    #[command(flatten)]
    scope: AccountScope,
}

#[derive(Args)]
#[group(required = true, multiple = false, args = ["id", "operator"])]
pub struct Test {
    /// The webhook, by id or URL.
    #[arg(value_name = "ID_OR_URL")]
    id: Option<WebhookRef>,
    /// Test the operator's webhook: `webhook_url` in [operator] of the configuration.
    #[arg(long)]
    operator: bool,
    #[command(flatten)]
    scope: AccountScope,
}

fn encoding(word: &str) -> Result<Encoding, String> {
    word.parse()
        .map_err(|_| "expected one of ascii, utf8".to_owned())
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Add(arguments) => add(arguments).await,
        Command::List(scope) => scope.show_list("/webhooks", &COLUMNS).await,
        Command::Show(Target { id, scope }) => {
            let (operator, path) = id.path(&scope).await?;
            let response = operator.get(&path).await?;
            scope.common.show(response, describe)
        }
        Command::Change(arguments) => change(arguments).await,
        Command::Rm(Target { id, scope }) => {
            let (operator, path) = id.path(&scope).await?;
            let response = operator.delete(&path).await?;
            let id = path.rsplit('/').next().unwrap_or_default();
            scope.common.confirm(&response, &format!("deleted {id}"))
        }
        Command::Test(arguments) => test(arguments).await,
        Command::Rotate(Target { id, scope }) => {
            let (operator, path) = id.path(&scope).await?;
            let response = operator
                .post(&format!("{path}/rotate-secret"), None)
                .await?;
            scope.common.show(response, describe)
        }
        Command::ResetSecrets(arguments) => reset_secrets::run(arguments).await,
        Command::Listen(arguments) => listen::run(arguments).await,
    }
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let (operator, path) = arguments.scope.path("/webhooks").await?;
    let body = json!({"url": arguments.url, "encoding": arguments.encoding.as_str()});
    let response = operator.post(&path, Some(body)).await?;
    arguments.scope.common.show(response, describe)
}

async fn change(arguments: Change) -> anyhow::Result<()> {
    let body = body([
        ("url", arguments.url.map(Value::from)),
        ("encoding", arguments.encoding.map(|it| it.as_str().into())),
        ("active", arguments.active.map(Value::from)),
    ]);
    let (operator, path) = arguments.id.path(&arguments.scope).await?;
    let response = operator.patch(&path, body.into()).await?;
    arguments.scope.common.show(response, describe)
}

async fn test(arguments: Test) -> anyhow::Result<()> {
    let Test { id, scope, .. } = arguments;
    let (operator, path) = match id {
        Some(id) => id.path(&scope).await?,
        None => (scope.common.operator()?, "/operator-webhook".to_owned()),
    };
    let response = operator.post(&format!("{path}/test"), None).await?;
    scope.common.show(response, |sent: Delivery| {
        format!(
            "Test delivery to {} queued. See its result with: tintype delivery show {}\n",
            escape_control_chars(&sent.url),
            &*sent.delivery_id
        )
    })
}

fn describe(webhook: Webhook) -> String {
    field_lines(&[
        ("webhook", Some(&webhook.webhook_id)),
        ("account", Some(&webhook.account_id)),
        ("url", Some(&webhook.url)),
        ("encoding", Some(&webhook.encoding)),
        ("active", Some(yes_or_no(webhook.active))),
        ("secret", webhook.secret.as_deref()),
    ])
}
