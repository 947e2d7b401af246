//! Describes the operator's calls on API keys.

use super::examples::{ACCOUNT, KEY, last_page, with};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc};
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::{ApiKey, Body as _, Rotation};
use tintype_storage::domain::api_key::KeyChange;

fn example() -> Value {
    json!({
        "key_id": KEY,
        "account_id": ACCOUNT,
        "prefix": "tt_0n7k",
        "system": false,
        "name": "website",
        "models": ["fast"],
        "active": true,
        "expires_at": null,
        "spend_limit": "5.00",
        "spend_limit_daily": null,
        "spend_limit_monthly": null,
        "spent": "0.039",
        "spent_today": "0.039",
        "spent_this_month": "0.039",
        "reserved": "0.067",
        "rate_limit": {"per_second": 5, "burst": 10},
        "allowed_ips": ["192.0.2.0/24"],
        "max_concurrent": 10,
        "last_used_at": "2026-11-20T20:10:58.145Z",
        "previous_valid_until": null,
        "created_at": "2026-11-18T11:06:40.001Z",
    })
}

fn with_text() -> Value {
    with(
        example(),
        json!({"api_key": "tt_0n7kQx4uYb2WmZr9VtLs8HfPa6JcDe1GiKoMq3SwUy5BnT0aF"}),
    )
}

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listKeys", "Keys", "List an account's keys")
        .window()
        .response(
            builder.page::<ApiKey>("A page of keys, without their texts.", last_page(example())),
        )
}

pub fn create(builder: &mut DocumentBuilder<'_>) -> Operation {
    let minimal = json!({"name": "website"});
    let full = json!({
        "name": "website",
        "models": ["fast"],
        "spend_limit": "5.00",
        "rate_limit": {"per_second": 5, "burst": 10},
        "allowed_ips": ["192.0.2.0/24"],
        "max_concurrent": 10,
    });
    let created = builder
        .response::<ApiKey>(201, "The key with its text.", with_text())
        .links(
            "key_id",
            &[
                ("show", "showKey"),
                ("change", "changeKey"),
                ("rotate", "rotateKey"),
                ("remove", "removeKey"),
            ],
        );
    Operation::new("createKey", "Keys", "Create a key")
        .text("`api_key` is returned only here; the service stores only its hash. Every restriction is optional. An account has at most 100 keys.")
        .body(
            KeyChange::schema(&["name"]),
            &[("With all rights", minimal), ("Restricted", full)],
        )
        .response(created)
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showKey", "Keys", "Get a key").response(builder.response::<ApiKey>(
        200,
        "The key, without its text.",
        example(),
    ))
}

pub fn change(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("changeKey", "Keys", "Change a key")
        .text("Omitted fields stay unchanged; `null` removes a restriction. Changes apply from the next call on.")
        .body(KeyChange::schema(&[]), &[
            ("Deactivate", json!({"active": false})),
            ("Remove a limit", json!({"spend_limit": null})),
        ])
        .response(builder.response::<ApiKey>(200, "The changed key.", example()))
}

pub fn remove(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("removeKey", "Keys", "Delete a key")
        .text("Its jobs continue and are charged. The panel's own key (`system`) cannot be deleted: 409.")
        .response(ResponseDoc::new(204, "The key is deleted."))
        .refuses([Code::Conflict])
}

pub fn rotate(builder: &mut DocumentBuilder<'_>) -> Operation {
    let rotated = with(
        with_text(),
        json!({"previous_valid_until": "2026-11-21T20:10:58.145Z"}),
    );
    Operation::new("rotateKey", "Keys", "Rotate a key")
        .text("Issues a new API key. Limits and spending stay the same. At most 8 rotated-out keys are valid at the same time.")
        .optional_body(Rotation::schema(&[]), &[("Revoke a leaked key", json!({"overlap_hours": 0}))])
        .response(builder.response::<ApiKey>(200, "The key with its new value.", rotated))
        .refuses([Code::Conflict])
}
