//! `tintype account statement`: what changed the balances of accounts in a month or another period.

use crate::cli::common::{Common, or_dash, parse_end, parse_time};
use crate::cli::operator::{PageOptions, only_set, read_all};
use crate::cli::output::{Column, list_table, print, print_json};
use crate::csv_text::quote;
use clap::{ArgGroup, Args};
use serde_json::json;
use std::time::Duration;
use tintype_api::{Statement, StatementLine};
use tintype_storage::domain::time::Timestamp;

const COLUMNS: [Column<Statement>; 8] = [
    ("OPENING", |it| it.opening.to_string()),
    ("DEPOSITS", |it| it.deposits.to_string()),
    ("REFUNDS", |it| it.refunds.to_string()),
    ("ADJUSTMENTS", |it| it.adjustments.to_string()),
    ("CHARGES", |it| it.charges.to_string()),
    ("CLOSING", |it| it.closing.to_string()),
    ("ACCOUNT", |it| it.name.clone()),
    ("ID", |it| it.account_id.to_string()),
];
const LINE_COLUMNS: [Column<StatementLine>; 5] = [
    ("MODEL", |it| or_dash(it.model.as_deref())),
    ("RESOLUTION", |it| or_dash(it.resolution.as_deref())),
    ("UNIT PRICE", |it| it.unit_price.to_string()),
    ("IMAGES", |it| it.images.to_string()),
    ("CHARGED", |it| it.charged.to_string()),
];
const CSV_HEAD: &str =
    "account_id,name,currency,opening,deposits,refunds,adjustments,charges,closing";
const LINES_CSV_HEAD: &str = "account_id,name,currency,model,resolution,unit_price,images,charged";

#[derive(Args)]
#[command(group(ArgGroup::new("period").required(true).args(["month", "from"])))]
pub struct Options {
    /// The account, by id or name [default: all accounts].
    #[arg(value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// The month (UTC), such as 2026-11.
    #[arg(long, value_parser = parse_month, conflicts_with_all = ["from", "to"])]
    month: Option<(Timestamp, Timestamp)>,
    /// Start of the period: a date (00:00 UTC) or time, such as 2026-11-01 or 2026-11-01T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "to")]
    from: Option<Timestamp>,
    /// End of the period, included: a time, or a date to its end (UTC).
    #[arg(long, value_name = "TIME", value_parser = parse_end, requires = "from")]
    to: Option<Timestamp>,
    /// List the charges by model, resolution and price, for an invoice.
    #[arg(long)]
    lines: bool,
    /// Print CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    common: Common,
}

/// Parses a month: its first and its last millisecond, in UTC.
fn parse_month(text: &str) -> Result<(Timestamp, Timestamp), String> {
    let expected = || "expected a month such as 2026-11".to_owned();
    let first =
        |year: i32, month: u32| Timestamp::parse(&format!("{year:04}-{month:02}-01T00:00:00Z"));
    let (year, month) = text.split_once('-').ok_or_else(expected)?;
    let (year, month) = (year.parse::<i32>(), month.parse::<u32>());
    let (Ok(year), Ok(month)) = (year, month) else {
        return Err(expected());
    };
    let next = match month {
        12 => first(year + 1, 1),
        _ => first(year, month + 1),
    };
    let (Some(first), Some(next)) = (first(year, month), next) else {
        return Err(expected());
    };
    Ok((first, next.minus(Duration::from_millis(1))))
}

pub async fn run(options: Options) -> anyhow::Result<()> {
    let operator = options.common.operator()?;
    let account = operator.account_id(options.account.as_deref()).await?;
    let (from, to) = match options.month {
        Some((from, to)) => (Some(from), Some(to)),
        None => (options.from, options.to),
    };
    let filters = only_set([
        ("account_id", account),
        ("from", from.map(|it| it.to_string())),
        ("to", to.map(|it| it.to_string())),
        ("lines", options.lines.then(|| true.to_string())),
    ]);
    let found = operator.list("/statements", &filters, PageOptions::default());
    let found = found.await?;
    if options.common.json {
        return print_json(&json!(found));
    }
    let statements = read_all(found.data)?;
    match (options.csv, options.lines) {
        (true, false) => print(&csv(CSV_HEAD, statements.iter().map(csv_line))),
        (true, true) => print(&csv(LINES_CSV_HEAD, statements.iter().flat_map(csv_lines))),
        (false, false) => print(&list_table(&COLUMNS, &statements)),
        (false, true) => statements.iter().try_for_each(|it| {
            let lines = it.lines.as_deref().unwrap_or_default();
            let sums = list_table(&COLUMNS, std::slice::from_ref(it));
            print(&format!("{sums}{}\n", list_table(&LINE_COLUMNS, lines)))
        }),
    }
}

fn csv(head: &str, lines: impl Iterator<Item = String>) -> String {
    let lines = std::iter::once(head.to_owned()).chain(lines);
    lines.map(|line| line + "\r\n").collect()
}

fn csv_line(it: &Statement) -> String {
    let sums: [&str; 6] = [
        &it.opening,
        &it.deposits,
        &it.refunds,
        &it.adjustments,
        &it.charges,
        &it.closing,
    ];
    format!("{},{}", csv_account(it), sums.join(","))
}

fn csv_lines(it: &Statement) -> impl Iterator<Item = String> {
    let lines = it.lines.iter().flatten();
    lines.map(|line| {
        let model = line.model.as_deref().unwrap_or_default();
        let resolution = line.resolution.as_deref().unwrap_or_default();
        let (price, images, charged) = (&*line.unit_price, line.images, &*line.charged);
        let account = csv_account(it);
        format!("{account},{model},{resolution},{price},{images},{charged}")
    })
}

fn csv_account(it: &Statement) -> String {
    let (id, name, currency) = (&*it.account_id, quote(&it.name), quote(&it.currency));
    format!("{id},{name},{currency}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_its_first_to_its_last_millisecond() {
        for (month, expected) in [
            (
                "2026-11",
                ["2026-11-01T00:00:00.000Z", "2026-11-30T23:59:59.999Z"],
            ),
            (
                "2026-12",
                ["2026-12-01T00:00:00.000Z", "2026-12-31T23:59:59.999Z"],
            ),
            (
                "2028-02",
                ["2028-02-01T00:00:00.000Z", "2028-02-29T23:59:59.999Z"],
            ),
        ] {
            let (from, to) = parse_month(month).unwrap();
            assert_eq!([from, to].map(|it| it.to_string()), expected);
        }
        for bad in ["", "2026", "2026-13", "2026-0", "2026-11-01", "November"] {
            assert!(parse_month(bad).is_err(), "{bad}");
        }
    }
}
