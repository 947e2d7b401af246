//! `tintype webhook ...`: registers webhooks through the operator interface, and receives deliveries for testing.

use super::common::{Common, OfAccount, block_on, yes_or_no};
use super::listen;
use super::operator::given;
use super::output::{facts, printable};
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
    List(OfAccount),
    /// Show a webhook with its secret.
    Show(One),
    /// Change the URL or the JSON encoding of a webhook, deactivate it or activate it again.
    Change(Change),
    /// Remove a webhook. Its pending deliveries fail.
    Rm(One),
    /// Send a test delivery, to a webhook or to the operator's own one.
    Test(Test),
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

/// Options of `webhook change`.
#[derive(Args)]
#[group(required = true, multiple = true, args = ["url", "encoding", "active"])]
pub struct Change {
    /// Id of the webhook.
    id: WebhookId,
    /// New URL. Pending deliveries go to it; those for a callback_url with the old URL fail.
    #[arg(long)]
    url: Option<String>,
    /// JSON encoding: ascii (escaped, as Python writes it) or utf8 (as JavaScript writes it).
    #[arg(long, value_parser = encoding)]
    encoding: Option<Encoding>,
    /// Activate (true) or deactivate (false) the webhook. While it is inactive, its deliveries fail with the reason `webhook inactive`.
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
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

/// Options of `webhook test`.
#[derive(Args)]
#[group(required = true, multiple = false, args = ["id", "operator"])]
pub struct Test {
    /// Id of the webhook.
    id: Option<WebhookId>,
    /// The webhook of the configuration, `[operator] webhook_url`.
    #[arg(long)]
    operator: bool,
    #[command(flatten)]
    common: Common,
}

fn encoding(word: &str) -> Result<Encoding, String> {
    word.parse().map_err(|_| "one of ascii, utf8".to_owned())
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::Add(arguments) => add(arguments).await,
            Command::List(of) => list(of).await,
            Command::Show(One { id, common }) => {
                let answer = common.operator()?.get(&path(id)).await?;
                common.show(answer, shown)
            }
            Command::Change(arguments) => change(arguments).await,
            Command::Rm(One { id, common }) => {
                let answer = common.operator()?.delete(&path(id)).await?;
                common.done(&answer, &format!("removed {id}"))
            }
            Command::Test(arguments) => test(arguments).await,
            Command::Rotate(One { id, common }) => {
                let path = format!("{}/rotate-secret", path(id));
                let answer = common.operator()?.post(&path, None).await?;
                common.show(answer, shown)
            }
            Command::Listen(arguments) => listen::run(arguments).await,
        }
    })
}

fn path(id: WebhookId) -> String {
    format!("/webhooks/{id}")
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = arguments.account.as_deref();
    let path = operator.account_path(account, "/webhooks").await?;
    let body = json!({"url": arguments.url, "encoding": arguments.encoding.word()});
    let answer = operator.post(&path, Some(body)).await?;
    arguments.common.show(answer, shown)
}

async fn list(of: OfAccount) -> anyhow::Result<()> {
    let all = of.whole("/webhooks").await?;
    let heads = ["WEBHOOK", "CREATED", "ENCODING", "ACTIVE", "URL"];
    of.common.show_list(all, heads, |it: Webhook| {
        [
            it.webhook_id.into(),
            it.created_at.into(),
            it.encoding.into(),
            yes_or_no(it.active).to_owned(),
            it.url,
        ]
    })
}

async fn change(arguments: Change) -> anyhow::Result<()> {
    let encoding = arguments.encoding.map(|it| it.word().to_owned());
    let fields = given([("url", arguments.url), ("encoding", encoding)]);
    let mut body: Map<String, Value> = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    body.extend(arguments.active.map(|it| ("active".to_owned(), it.into())));
    let operator = arguments.common.operator()?;
    let path = path(arguments.id);
    let answer = operator.patch(&path, Value::Object(body)).await?;
    arguments.common.show(answer, shown)
}

async fn test(arguments: Test) -> anyhow::Result<()> {
    let Test { id, common, .. } = arguments;
    let path = match id {
        Some(id) => format!("{}/test", path(id)),
        None => "/operator-webhook/test".to_owned(),
    };
    let answer = common.operator()?.post(&path, None).await?;
    common.show(answer, |sent: Delivery| {
        format!(
            "Test delivery to {} queued. See its result with: tintype delivery show {}\n",
            printable(&sent.url),
            &*sent.delivery_id
        )
    })
}

/// A webhook with its secret, for the receiver.
fn shown(webhook: Webhook) -> String {
    facts(&[
        ("webhook", Some(&webhook.webhook_id)),
        ("account", Some(&webhook.account_id)),
        ("url", Some(&webhook.url)),
        ("encoding", Some(&webhook.encoding)),
        ("active", Some(yes_or_no(webhook.active))),
        ("secret", webhook.secret.as_deref()),
    ])
}
