//! Describes the operator's calls on accounts and their ledgers.

use super::examples::{ACCOUNT, charge, last_page, page};
use crate::http::openapi::{DocumentBuilder, Header, Operation, ResponseDoc};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::schema::words;
use tintype_api::{Account, Body as _, NewAccount, NewDeposit, Transaction};
use tintype_storage::domain::account::AccountChange;

pub const ID: &str = "The account's id.";

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

/// `POST /accounts`
pub fn open(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("openAccount", "Accounts", "Open an account")
        .idempotent("Your name for this account. Repeated calls with the same name open one account.")
        .body(
            NewAccount::schema(&[]),
            &[(
                "With a balance",
                json!({"name": "studio", "balance": "25.00"}),
            ), (
                "With a limit",
                json!({"name": "guest", "balance": "25.00", "limits": {"spend_per_day": "5.00"}}),
            )],
        )
        .response(
            ResponseDoc::json(201, "The account.", builder.schema::<Account>(), example())
                .header(Header::REPLAYED)
                .link(
                    "show",
                    "showAccount",
                    "account_id",
                    "$response.body#/account_id",
                )
                .link(
                    "deposit",
                    "addDeposit",
                    "account_id",
                    "$response.body#/account_id",
                )
                .link(
                    "createKey",
                    "createKey",
                    "account_id",
                    "$response.body#/account_id",
                )
                .link(
                    "registerWebhook",
                    "registerWebhook",
                    "account_id",
                    "$response.body#/account_id",
                ),
        )
}

/// `GET /accounts`
pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    let schema = builder.schema::<Listing<Account>>();
    Operation::new("listAccounts", "Accounts", "List accounts")
        .text("Oldest first.")
        .window()
        .response(ResponseDoc::json(
            200,
            "A page of accounts.",
            schema,
            page(example()),
        ))
}

/// `GET /accounts/{account_id}`
pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showAccount", "Accounts", "Get an account")
        .path_id("account_id", ID)
        .response(ResponseDoc::json(
            200,
            "The account.",
            builder.schema::<Account>(),
            example(),
        ))
        .refuses([Code::NotFound])
}

/// `PATCH /accounts/{account_id}`
pub fn change(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new(
        "changeAccount",
        "Accounts",
        "Rename, limit, deactivate or reactivate an account",
    )
    .text("Omitted fields and `null` leave a value unchanged, except that `null` removes `low_balance`, `limits` and each single limit. A limit applies from the next call on, to all keys of the account together, even if the limits of a key are higher. Reserved amounts count as spent, so a day or month is never charged more than its limit.")
    .path_id("account_id", ID)
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
    .response(ResponseDoc::json(
        200,
        "The account.",
        builder.schema::<Account>(),
        super::examples::with(example(), limited_account()),
    ))
    .refuses([Code::NotFound])
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

/// `POST /accounts/{account_id}/deposits`
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
    Operation::new("addDeposit", "Accounts", "Add funds")
        .path_id("account_id", ID)
        .idempotent(
            "Your name for this deposit. Repeated calls with the same name book one deposit.",
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
            ],
        )
        .response(
            ResponseDoc::json(
                201,
                "The new ledger entry.",
                builder.schema::<Transaction>(),
                entry,
            )
            .header(Header::REPLAYED),
        )
        .refuses([Code::NotFound])
}

/// `GET /accounts/{account_id}/transactions`
pub fn transactions(builder: &mut DocumentBuilder<'_>) -> Operation {
    let moment = || json!({"type": "string", "format": "date-time"});
    let schema = builder.schema::<Listing<Transaction>>();
    Operation::new("listTransactions", "Accounts", "List an account's transactions")
        .text("Newest first. If few entries match a filter, a page may end early and still have a `next_cursor`.")
        .path_id("account_id", ID)
        .window()
        .query("kind", "Only entries of this kind.", words(["deposit", "charge", "adjustment"]))
        .query("from", "Only from this time on.", moment())
        .query("to", "Only up to this time.", moment())
        .response(ResponseDoc::json(
            200,
            "A page of the ledger.",
            schema,
            last_page(charge()),
        ))
        .refuses([Code::NotFound])
}
