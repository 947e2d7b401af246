//! Describes the calls on the account of the caller.

use super::examples::{KEY, charge, last_page, page};
use crate::http::openapi::{DocumentBuilder, Operation, date_time, uuid};
use serde_json::json;
use tintype_api::schema::words;
use tintype_api::{Balance, Model, OwnKey, Transaction, Usage};
use tintype_storage::domain::ledger::EntryKind;

pub fn balance(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({"balance": "99.866", "reserved": "0.134", "available": "99.732"});
    let response = builder.response::<Balance>(200, "The account's balance.", example);
    Operation::new("showBalance", "Account", "Get the balance")
        .text("All three amounts are from the same point in time: `available` is `balance` minus `reserved`.")
        .response(response)
}

pub fn transactions(builder: &mut DocumentBuilder<'_>) -> Operation {
    let response = builder.page::<Transaction>("A page of the ledger.", page(charge()));
    Operation::new("listTransactions", "Account", "List transactions")
        .text("Deposits and the price of each image, with the balance after each entry; newest first. If few entries match a filter, a page may end early and still have a `next_cursor`.")
        .window()
        .query("kind", "Only entries of this kind.", words(EntryKind::names()))
        .query("job_id", "Only the charge and the refunds of this job.", uuid())
        .query("from", "Only from this time on.", date_time())
        .query("to", "Only up to this time.", date_time())
        .response(response)
}

pub fn daily_usage(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({
        "day": "2026-11-20",
        "key_id": KEY,
        "key_name": "website",
        "model": "pro",
        "resolution": "2K",
        "images": 12,
        "failed": 1,
        "charged": "1.608",
    });
    let next = "2026-11-20.01a1f0c2-9e41-7a02-b6c3-0d9f4e2a7c55.pro.2K";
    let page = json!({"data": [example], "next_cursor": next});
    let day = || json!({"type": "string", "format": "date"});
    Operation::new("listUsage", "Account", "List daily usage")
        .text("The images and charges of each UTC day, key, model and resolution; oldest first. A job counts on the day on which it ended. The range has at most 366 days.")
        .window_with_cursor(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\.[0-9a-f-]{36}\.(fast|quality|pro)\.[124]K$")
        .query("from", "The first UTC day. Default: 29 days before the last one.", day())
        .query("to", "The last UTC day, which is included. Default: today.", day())
        .query("key", "Only jobs of this key.", uuid())
        .response(builder.page::<Usage>("A page of the usage.", page))
}

pub fn models(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({
        "id": "fast",
        "modes": ["text-to-image", "image-to-image"],
        "aspect_ratios": ["1:1", "3:2", "16:9"],
        "resolutions": ["1K"],
        "prices": {"1K": "0.039"},
        "paused": false,
        "allowed": true,
    });
    let response = builder.page::<Model>("All models, on one page.", last_page(example));
    Operation::new("listModels", "Account", "List models")
        .text("Each model with its ratios, sizes and prices, whether it is paused, and whether this key may use it.")
        .response(response)
}

pub fn key(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({
        "key_id": KEY,
        "name": "website",
        "models": ["fast", "quality", "pro"],
        "active": true,
        "expires_at": null,
        "spend_limit": "50.00",
        "spent": "0.134",
        "reserved": "0.067",
        "spend_limit_daily": "5.00",
        "spent_today": "0.134",
        "max_concurrent": 10,
        "allowed_ips": ["203.0.113.0/24"],
        "rate_limit": {"per_second": 5, "burst": 10},
        "created_at": "2026-11-18T11:06:40.001Z",
    });
    let response = builder.response::<OwnKey>(200, "The key, without its text.", example);
    Operation::new("showKey", "Account", "Get the key in use").response(response)
}
