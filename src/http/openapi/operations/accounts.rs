//! Describes the operator's calls on accounts and their ledgers.

use super::examples::{ACCOUNT, charge, last_page, page};
use crate::http::openapi::{DocumentBuilder, Header, Operation, date_time, uuid};
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::schema::words;
use tintype_api::{
    Account, AccountErasure, Body as _, NewAccount, NewDeposit, Statement, Transaction,
};
use tintype_storage::domain::account::AccountChange;
use tintype_storage::domain::ledger::EntryKind;

fn example() -> Value {
    json!({
        "account_id": ACCOUNT,
        "name": "studio",
        "balance": "25.00",
        "reserved": "0.00",
        "available": "25.00",
        "created_at": "2026-11-18T11:06:40.001Z",
    })
}

pub fn open(builder: &mut DocumentBuilder<'_>) -> Operation {
    let with_balance = json!({"name": "studio", "balance": "25.00"});
    let with_limit =
        json!({"name": "guest", "balance": "25.00", "limits": {"spend_per_day": "5.00"}});
    let opened = builder
        .response::<Account>(201, "The account.", example())
        .header(Header::REPLAYED)
        .links(
            "account_id",
            &[
                ("show", "showAccount"),
                ("deposit", "addDeposit"),
                ("createKey", "createKey"),
                ("registerWebhook", "registerWebhook"),
            ],
        );
    Operation::new("openAccount", "Accounts", "Open an account")
        .idempotent(
            "An idempotency key of your choice. Repeated calls with the same key open one account, for 400 days.",
        )
        .body(
            NewAccount::schema(&[]),
            &[
                ("With a balance", with_balance),
                ("With a limit", with_limit),
            ],
        )
        .response(opened)
}

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listAccounts", "Accounts", "List accounts")
        .text("Oldest first. Several accounts may have the same name.")
        .query(
            "name",
            "Only accounts with exactly this name.",
            json!({"type": "string"}),
        )
        .window()
        .response(builder.page::<Account>("A page of accounts.", page(example())))
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showAccount", "Accounts", "Get an account")
        .response(builder.response::<Account>(200, "The account.", example()))
}

pub fn change(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new(
        "changeAccount",
        "Accounts",
        "Rename, limit, deactivate or reactivate an account",
    )
    .text("Omitted fields and `null` leave a value unchanged, except that `null` removes `low_balance`, `limits` and each single limit. A limit applies from the next call on, to all keys of the account together, even if the limits of a key are higher. Reserved amounts count as spent, so a day or month is never charged more than its limit.")
    .body(
        AccountChange::schema(&[]),
        &[
            ("Rename", json!({"name": "studio north"})),
            ("Deactivate", json!({"active": false})),
            (
                "Limit",
                json!({"limits": {"spend_per_day": "50.00", "max_concurrent": 20}}),
            ),
        ],
    )
    .response(builder.response::<Account>(200, "The account.",
        super::examples::with(example(), limited_account()),
    ))
}

pub fn erase(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("eraseAccount", "Accounts", "Erase an account")
        .text("Deactivates the account and erases `limit` of its jobs, newest first, as `DELETE /jobs/{job_id}/content` does. Repeat the call with `next_cursor`. Further calls erase the metadata of batches and what deliveries have sent and received, `limit` of each. The last call also \
            deletes people, webhooks, keys and uploaded files, and names the account `erased-` and the last 8 digits of its id. Its record, ledger and daily usage stay. You can begin again at any time. While a job has not ended: `409`.")
        .window_with_cursor("^[jbfdr]([0-9a-f]{32})?$")
        .response(builder.response::<AccountErasure>(
            200,
            "The step is done.",
            json!({"jobs": 20, "next_cursor": "j01a1fa956f5b7a039d4f2f1c6f0f2d11"}),
        ))
        .refuses([Code::Conflict, Code::StorageUnavailable])
}

fn limited_account() -> Value {
    json!({
        "limits": {
            "spend_per_day": "50.00",
            "spend_per_month": null,
            "rate_limit": null,
            "max_concurrent": 20,
            "used": {"spent_today": "4.02", "spent_this_month": "4.02", "live_jobs": 0},
        },
    })
}

pub fn deposit(builder: &mut DocumentBuilder<'_>) -> Operation {
    let entry = super::examples::with(
        charge(),
        json!({
            "kind": "deposit",
            "amount": "25.00",
            "balance_after": "124.866",
            "job_id": null,
            "reference": "invoice 7",
        }),
    );
    Operation::new("addDeposit", "Accounts", "Add funds or refund a job")
        .text("A refund is a deposit with the `job_id` of a job that was charged to this account. Without `amount` it covers the rest of the charge. More than the rest: `409`. Spend limits of keys are not given back.")
        .idempotent(
            "An idempotency key of your choice. Repeated calls with the same key record one deposit, for 400 days.",
        )
        .body(
            NewDeposit::schema(&[]),
            &[
                (
                    "A deposit",
                    json!({"amount": "25.00", "reference": "invoice 7"}),
                ),
                (
                    "A correction",
                    json!({"amount": "-5.00", "reference": "invoice 7 was too high"}),
                ),
                (
                    "A refund",
                    json!({"job_id": charge()["job_id"], "reference": "the image was unusable"}),
                ),
            ],
        )
        .refuses([Code::Conflict])
        .response(
            builder
                .response::<Transaction>(201, "The new ledger entry.", entry)
                .header(Header::REPLAYED),
        )
}

pub fn transactions(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listTransactions", "Accounts", "List an account's transactions")
        .text("Newest first. If few entries match a filter, a page may end early and still have a `next_cursor`.")
        .window()
        .query("kind", "Only entries of this kind.", words(EntryKind::names()))
        .query("job_id", "Only the charge and the refunds of this job.", uuid())
        .query("from", "Only from this time on.", date_time())
        .query("to", "Only up to this time.", date_time())
        .response(builder.page::<Transaction>("A page of the ledger.",
            last_page(charge()),
        ))
}

pub fn statements(builder: &mut DocumentBuilder<'_>) -> Operation {
    let line = json!({
        "model": "pro",
        "resolution": "1K",
        "unit_price": "0.134",
        "images": 12,
        "charged": "1.608",
    });
    let example = json!({
        "account_id": ACCOUNT,
        "name": "studio",
        "currency": "USD",
        "opening": "3.20",
        "deposits": "25.00",
        "refunds": "0.134",
        "adjustments": "-0.50",
        "charges": "-1.608",
        "closing": "26.226",
        "lines": [line],
    });
    Operation::new("listStatements", "Accounts", "List statements of accounts")
        .text("What changed the balance of each account in a period, by its ledger: `opening` plus `deposits`, `refunds`, `adjustments` and `charges` is `closing`. Oldest account first, without accounts that were opened later. A page may end early and still have a `next_cursor`.")
        .window()
        .query("account_id", "Only this account.", uuid())
        .query("from", "The start of the period. Default: the first entry.", date_time())
        .query("to", "The end of the period, which is included. Default: now.", date_time())
        .query("lines", "`true`: also the charges by model, resolution and price. This reads the job of each charge.", json!({"type": "boolean", "default": false}))
        .response(builder.page::<Statement>("A page of statements.", page(example)))
}
