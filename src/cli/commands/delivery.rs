//! `tintype delivery`: webhook deliveries of a running server.

use crate::cli::common::{Common, or_dash, parse_end, parse_time};
use crate::cli::operator::{Operator, PageOptions, body, only_set, read};
use crate::cli::output::{Column, field_lines, print, print_json, table, truncate};
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Map, Value, json};
use tintype_api::{Attempt, Delivery};
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::delivery::{DeliveryId, DeliveryStatus};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;

/// Lines shown of the response to an attempt.
const MAX_RESPONSE_LINES: usize = 3;
const MAX_LINE_CHARS: usize = 120;
/// Maximum characters of an error in the list.
const MAX_ERROR_CHARS: usize = 60;

const COLUMNS: [Column<Delivery>; 8] = [
    ("DELIVERY", |it| it.delivery_id.to_string()),
    ("CREATED", |it| it.created_at.to_string()),
    ("STATUS", |it| it.status.to_string()),
    ("ATTEMPTS", |it| it.attempts.len().to_string()),
    ("LAST RESULT", |it| {
        or_dash(it.attempts.last().map(describe_outcome))
    }),
    ("KIND", |it| subject(it).0.to_owned()),
    ("JOB, BATCH OR EVENT", |it| or_dash(subject(it).1)),
    ("URL", |it| it.url.clone()),
];

#[derive(Subcommand)]
pub enum Command {
    /// List deliveries, newest first.
    List(List),
    /// Show a delivery with all its attempts.
    Show(Show),
    /// Redeliver one delivery, or all failed deliveries of a webhook.
    Redeliver(Redeliver),
}

#[derive(Args)]
pub struct List {
    /// Filter by account, by id or name.
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Filter by job or by batch. A job of a batch selects the delivery of its batch.
    #[arg(long, value_name = "ID")]
    job: Option<JobId>,
    /// Filter by webhook.
    #[arg(long, value_name = "ID")]
    webhook: Option<WebhookId>,
    /// Filter by status.
    #[arg(long, value_parser = PossibleValuesParser::new(DeliveryStatus::names()))]
    status: Option<String>,
    #[command(flatten)]
    page: PageOptions,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Show {
    /// Id of the delivery.
    id: DeliveryId,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
#[command(group(ArgGroup::new("deliveries").required(true).args(["id", "webhook"])))]
pub struct Redeliver {
    /// Id of the delivery.
    id: Option<DeliveryId>,
    /// Redeliver all failed deliveries of this webhook.
    #[arg(long, value_name = "ID")]
    webhook: Option<WebhookId>,
    /// Filter by creation time: at or after a date (00:00 UTC) or time, such as 2026-11-20 or 2026-11-20T08:00:00Z.
    #[arg(long, value_name = "TIME", requires = "webhook", conflicts_with = "id", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Filter by creation time: at or before a time, or a date to its end (UTC).
    #[arg(long, value_name = "TIME", requires = "webhook", conflicts_with = "id", value_parser = parse_end)]
    to: Option<Timestamp>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(arguments) => list(arguments).await,
        Command::Show(Show { id, common }) => {
            let path = format!("/deliveries/{id}");
            common.show(common.operator()?.get(&path).await?, describe)
        }
        Command::Redeliver(arguments) => redeliver(arguments).await,
    }
}

async fn list(arguments: List) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = operator.account_id(arguments.account.as_deref()).await?;
    let filters = only_set([
        ("account_id", account),
        ("job_id", arguments.job.map(|it| it.to_string())),
        ("webhook_id", arguments.webhook.map(|it| it.to_string())),
        ("status", arguments.status),
    ]);
    let found = operator.list("/deliveries", &filters, arguments.page);
    arguments.common.show_list(found.await?, &COLUMNS)
}

/// What the delivery is about: the id under which `tintype job show` or `tintype batch show` finds it, or the type of an operator
/// event.
fn subject(it: &Delivery) -> (&str, Option<&str>) {
    match &*it.kind {
        "event" => ("job", it.job_id.as_deref()),
        "batch" => ("batch", it.batch_id.as_deref()),
        "operator" => ("operator", it.event_type.as_deref()),
        // A test names a job that does not exist.
        kind => (kind, None),
    }
}

fn describe_outcome(attempt: &Attempt) -> String {
    match (attempt.status_code, &attempt.error) {
        (Some(code), None) => code.to_string(),
        (Some(code), Some(error)) => format!("{code}, {}", truncate(error, MAX_ERROR_CHARS)),
        (None, error) => truncate(error.as_deref().unwrap_or("no response"), MAX_ERROR_CHARS),
    }
}

fn describe(delivery: Delivery) -> String {
    let status = match &delivery.reason {
        Some(reason) => format!("{}: {}", &*delivery.status, &**reason),
        None => delivery.status.to_string(),
    };
    let subject = match subject(&delivery) {
        ("operator", Some(event)) => ("operator event", Some(event)),
        (kind, Some(id)) => (kind, Some(id)),
        (kind, None) => ("kind", Some(kind)),
    };
    let mut text = field_lines(&[
        ("delivery", Some(&delivery.delivery_id)),
        ("status", Some(&status)),
        ("next attempt", delivery.next_attempt_at.as_deref()),
        ("created", Some(&delivery.created_at)),
        subject,
        ("account", delivery.account_id.as_deref()),
        ("webhook", delivery.webhook_id.as_deref()),
        ("url", Some(&delivery.url)),
    ]);
    if delivery.attempts.is_empty() {
        return text + "\nno attempts yet\n";
    }
    let mut rows = Vec::new();
    for (at, attempt) in delivery.attempts.iter().enumerate() {
        let mut lines = attempt
            .response_body
            .lines()
            .filter(|line| !line.trim().is_empty());
        let mut first = lines.by_ref().take(MAX_RESPONSE_LINES);
        let code = attempt.status_code.map(|it| it.to_string());
        rows.push(vec![
            (at + 1).to_string(),
            attempt.at.to_string(),
            code.unwrap_or_else(|| "-".into()),
            format!("{} ms", attempt.duration_ms),
            attempt.error.clone().unwrap_or_else(|| "-".into()),
            first.next().map(truncate_line).unwrap_or_default(),
        ]);
        let below = |text: String| {
            let mut row = vec![String::new(); 5];
            row.push(text);
            row
        };
        rows.extend(first.map(|line| below(truncate_line(line))));
        if *attempt.url != delivery.url {
            rows.push(below(truncate_line(&format!(
                "(sent to {})",
                &*attempt.url
            ))));
        }
    }
    text.push('\n');
    text.push_str(&table(
        &["#", "TIME", "STATUS", "DURATION", "ERROR", "RESPONSE"],
        rows,
    ));
    text
}

fn truncate_line(line: &str) -> String {
    truncate(line, MAX_LINE_CHARS)
}

async fn redeliver(arguments: Redeliver) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let response = match (arguments.id, arguments.webhook) {
        (Some(id), _) => {
            operator
                .post(&format!("/deliveries/{id}/redeliver"), None)
                .await?
        }
        (None, Some(webhook)) => {
            let body = body([
                ("from", arguments.from.map(|it| it.to_string().into())),
                ("to", arguments.to.map(|it| it.to_string().into())),
            ]);
            let path = format!("/webhooks/{webhook}/redeliver");
            redeliver_all_failed(&operator, &path, body).await?
        }
        (None, None) => anyhow::bail!("give the id of a delivery, or a webhook with --webhook"),
    };
    if arguments.common.json {
        return print_json(&response);
    }
    let text = match response["redelivered"].as_u64() {
        Some(count) => format!("{} queued for redelivery", counted(count, "delivery")),
        None => {
            let delivery: Delivery = read(response)?;
            format!("{} queued for redelivery", &*delivery.delivery_id)
        }
    };
    print(&format!("{text}\n"))
}

/// Sends requests until the response contains no cursor.
async fn redeliver_all_failed(
    operator: &Operator,
    path: &str,
    mut body: Map<String, Value>,
) -> anyhow::Result<Value> {
    let mut count = 0;
    loop {
        let request = Value::Object(body.clone());
        let response = operator.post(path, Some(request)).await?;
        count += response["redelivered"].as_u64().unwrap_or(0);
        let next = response["next_cursor"].clone();
        if next.is_null() {
            return Ok(json!({"redelivered": count, "more": false, "next_cursor": null}));
        }
        body.insert("cursor".to_owned(), next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::list_table;

    fn row(it: Delivery) -> [String; 8] {
        COLUMNS.map(|(_, value)| value(&it))
    }

    fn delivery(attempts: Value) -> Delivery {
        read(json!({
            "delivery_id": "d1", "account_id": "a1", "kind": "event", "job_id": "j1", "webhook_id": "w1", "url": "http://x/",
            "status": "failed", "reason": "attempts exhausted", "attempts": attempts,
            "next_attempt_at": null, "created_at": "2026-11-20T20:00:00.000Z",
        }))
        .unwrap()
    }

    fn attempts() -> Value {
        json!([
            {"at": "t1", "url": "http://x/", "status_code": null, "error": "its host could not be reached: connection refused",
             "duration_ms": 3, "response_body": ""},
            {"at": "t2", "url": "http://x/", "status_code": 500, "error": null, "duration_ms": 12,
             "response_body": "oh\u{1b}[31m\n\nno\r\nthree\nfour\n"},
            {"at": "t3", "url": "http://x/", "status_code": 200, "error": "no complete response within 10 s", "duration_ms": 10_000,
             "response_body": ""},
        ])
    }

    #[test]
    fn a_delivery_is_described_with_its_attempts() {
        insta::assert_snapshot!(describe(delivery(attempts())));
        assert!(describe(delivery(json!([]))).ends_with("\nno attempts yet\n"));
    }

    #[test]
    fn a_delivery_that_concerns_no_job_names_none() {
        let mut test = delivery(json!([]));
        test.kind = "test".into();
        assert!(describe(test).contains("kind          test\n"));
        let batch = Delivery {
            kind: "batch".into(),
            batch_id: Some("b1".into()),
            job_id: None,
            ..delivery(json!([]))
        };
        assert_eq!(row(batch)[5..7], ["batch", "b1"]);
    }

    #[test]
    fn an_operator_event_is_named_by_its_type_and_has_no_account_or_webhook() {
        let event = || Delivery {
            kind: "operator".into(),
            account_id: None,
            webhook_id: None,
            event_type: Some("disk.low".into()),
            job_id: None,
            ..delivery(json!([]))
        };
        assert_eq!(row(event())[5..7], ["operator", "disk.low"]);
        let text = describe(event());
        assert!(text.contains("operator event  disk.low\n"), "{text}");
        for absent in ["account", "webhook"] {
            assert!(!text.contains(absent), "{text}");
        }
    }

    #[test]
    fn a_list_shows_the_last_result_of_each_delivery() {
        let list = [
            delivery(attempts()),
            delivery(json!([])),
            delivery(json!([attempts()[0]])),
        ];
        insta::assert_snapshot!(list_table(&COLUMNS, &list));
    }
}
