//! `tintype webhook ...`: registers webhooks through the operator interface, and receives deliveries for testing.

use super::common::Common;
use super::listen;
use super::operator::read;
use super::output::{facts, print, print_json};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use tintype_api::{Delivery, Webhook};
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::webhook::WebhookId;

/// What to do with webhooks.
#[derive(Subcommand)]
pub enum Command {
    /// Register a URL and print its signing secret.
    Add(Add),
    /// List the webhooks of an account, oldest first; --json includes the secrets.
    List(List),
    /// Show a webhook with its secret.
    Show(One),
    /// Change the URL or the JSON encoding of a webhook.
    Change(Change),
    /// Remove a webhook. Its pending deliveries fail.
    Rm(One),
    /// Send a test delivery.
    Test(One),
    /// Replace the secret. The old one also signs webhook-signature for 24 more hours.
    Rotate(One),
    /// Receive deliveries on this machine, verify and print them.
    Listen(listen::Arguments),
}

/// Options of `webhook add`.
#[derive(Args)]
pub struct Add {
    /// URL that receives the deliveries. `[egress] allow` permits addresses that are not public.
    url: String,
    /// The account, by id or name [default: the only one].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// JSON encoding: ascii (escaped, as Python writes it) or utf8 (as JavaScript writes it).
    #[arg(long, default_value = "ascii", value_parser = encoding)]
    encoding: Encoding,
    #[command(flatten)]
    common: Common,
}

/// Options of `webhook list`.
#[derive(Args)]
pub struct List {
    /// The account, by id or name [default: the only one].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Options of `webhook change`.
#[derive(Args)]
#[group(required = true, multiple = true, args = ["url", "encoding"])]
pub struct Change {
    /// Id of the webhook.
    id: WebhookId,
    /// New URL. Pending deliveries go to it; those for a callback_url with the old URL fail.
    #[arg(long)]
    url: Option<String>,
    /// JSON encoding: ascii (escaped, as Python writes it) or utf8 (as JavaScript writes it).
    #[arg(long, value_parser = encoding)]
    encoding: Option<Encoding>,
    #[command(flatten)]
    common: Common,
}

/// Options of what is done with one webhook.
#[derive(Args)]
pub struct One {
    /// Id of the webhook.
    id: WebhookId,
    #[command(flatten)]
    common: Common,
}

fn encoding(word: &str) -> Result<Encoding, String> {
    word.parse().map_err(|_| "one of ascii, utf8".to_owned())
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    actix_web::rt::System::new().block_on(async {
        match command {
            Command::Add(arguments) => add(arguments).await,
            Command::List(arguments) => list(arguments).await,
            Command::Show(One { id, common }) => {
                let path = format!("/webhooks/{id}");
                show(common.json, common.operator()?.get(&path).await?)
            }
            Command::Change(arguments) => change(arguments).await,
            Command::Rm(arguments) => remove(arguments).await,
            Command::Test(arguments) => test(arguments).await,
            Command::Rotate(arguments) => rotate(arguments).await,
            Command::Listen(arguments) => listen::run(arguments).await,
        }?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let operator = arguments.common.access.operator()?;
    let account = arguments.account.as_deref();
    let path = operator.account_path(account, "/webhooks").await?;
    let body = json!({"url": arguments.url, "encoding": arguments.encoding.word()});
    let answer = operator.post(&path, Some(body)).await?;
    show(arguments.common.json, answer)
}

async fn list(arguments: List) -> anyhow::Result<()> {
    let operator = arguments.common.access.operator()?;
    let account = arguments.account.as_deref();
    let path = operator.account_path(account, "/webhooks").await?;
    let all = operator.whole(&path).await?;
    let heads = ["WEBHOOK", "CREATED", "ENCODING", "URL"];
    arguments.common.show_list(all, &heads, |value| {
        let it: Webhook = read(value)?;
        Ok(vec![
            it.webhook_id.into(),
            it.created_at.into(),
            it.encoding.into(),
            it.url,
        ])
    })
}

async fn change(arguments: Change) -> anyhow::Result<()> {
    let encoding = arguments.encoding.map(|it| it.word().to_owned());
    let body: Map<String, Value> = [("url", arguments.url), ("encoding", encoding)]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.into())))
        .collect();
    let path = format!("/webhooks/{}", arguments.id);
    let operator = arguments.common.operator()?;
    let answer = operator.patch(&path, Value::Object(body)).await?;
    show(arguments.common.json, answer)
}

async fn remove(One { id, common }: One) -> anyhow::Result<()> {
    let answer = common
        .access
        .operator()?
        .delete(&format!("/webhooks/{id}"))
        .await?;
    if common.json {
        return print_json(&answer);
    }
    print(&format!("removed {id}\n"))
}

async fn test(One { id, common }: One) -> anyhow::Result<()> {
    let path = format!("/webhooks/{id}/test");
    let answer = common.access.operator()?.post(&path, None).await?;
    if common.json {
        return print_json(&answer);
    }
    let sent: Delivery = read(answer)?;
    print(&format!(
        "Test delivery to {} queued. See its result with: tintype delivery show {}\n",
        super::output::printable(&sent.url),
        &*sent.delivery_id
    ))
}

async fn rotate(One { id, common }: One) -> anyhow::Result<()> {
    let path = format!("/webhooks/{id}/rotate-secret");
    let answer = common.access.operator()?.post(&path, None).await?;
    show(common.json, answer)
}

/// Prints a webhook with its secret, for the receiver.
fn show(json: bool, answer: Value) -> anyhow::Result<()> {
    if json {
        return print_json(&answer);
    }
    let webhook: Webhook = read(answer)?;
    print(&facts(&[
        ("webhook", Some(&webhook.webhook_id)),
        ("account", Some(&webhook.account_id)),
        ("url", Some(&webhook.url)),
        ("encoding", Some(&webhook.encoding)),
        ("secret", webhook.secret.as_deref()),
    ]))
}
