//! The operator's calls on API keys.

use super::accounts;
use super::examples::{ACCOUNT, KEY, last_page, with};
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::{ApiKey, Body as _, Rotation};
use tintype_storage::domain::api_key::KeyChange;

const ID: &str = "The key's id.";

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

/// `GET /accounts/{account_id}/keys`
pub fn list(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Listing<ApiKey>>();
    Operation::new("listKeys", "Keys", "List an account's keys")
        .path_id("account_id", accounts::ID)
        .window()
        .answer(Answer::json(
            200,
            "A page of keys, without their texts.",
            schema,
            last_page(example()),
        ))
        .refuses([Code::NotFound])
}

/// `POST /accounts/{account_id}/keys`
pub fn create(sketch: &mut Sketch<'_>) -> Operation {
    let least = json!({"name": "website"});
    let most = json!({
        "name": "website",
        "models": ["fast"],
        "spend_limit": "5.00",
        "rate_limit": {"per_second": 5, "burst": 10},
        "allowed_ips": ["192.0.2.0/24"],
        "max_concurrent": 10,
    });
    Operation::new("createKey", "Keys", "Create a key")
        .text("`api_key` is told this once; only its hash is kept. Every restriction is optional. An account has at most 100 keys.")
        .path_id("account_id", accounts::ID)
        .body(
            KeyChange::schema(&["name"]),
            &[("With all rights", least), ("Narrowed", most)],
        )
        .answer(
            Answer::json(
                201,
                "The key with its text.",
                sketch.schema::<ApiKey>(),
                with_text(),
            )
            .link("show", "showApiKey", "key_id", "$response.body#/key_id")
            .link("change", "changeKey", "key_id", "$response.body#/key_id")
            .link("rotate", "rotateKey", "key_id", "$response.body#/key_id")
            .link("remove", "removeKey", "key_id", "$response.body#/key_id"),
        )
        .refuses([Code::NotFound])
}

/// `GET /keys/{key_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new("showApiKey", "Keys", "Get a key")
        .path_id("key_id", ID)
        .answer(Answer::json(
            200,
            "The key, without its text.",
            sketch.schema::<ApiKey>(),
            example(),
        ))
        .refuses([Code::NotFound])
}

/// `PATCH /keys/{key_id}`
pub fn change(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new("changeKey", "Keys", "Change a key")
        .text("What is left out stays as it is; `null` lifts a restriction. It holds from the next call on.")
        .path_id("key_id", ID)
        .body(KeyChange::schema(&[]), &[
            ("Switched off", json!({"active": false})),
            ("A limit lifted", json!({"spend_limit": null})),
        ])
        .answer(Answer::json(200, "The key as it is now.", sketch.schema::<ApiKey>(), example()))
        .refuses([Code::NotFound])
}

/// `DELETE /keys/{key_id}`
pub fn remove(_: &mut Sketch<'_>) -> Operation {
    Operation::new("removeKey", "Keys", "Delete a key")
        .text("Its jobs go on, and are paid. The panel's own key (`system`) is not deleted: 409.")
        .path_id("key_id", ID)
        .answer(Answer::new(204, "The key is gone."))
        .refuses([Code::NotFound, Code::Conflict])
}

/// `POST /keys/{key_id}/rotate`
pub fn rotate(sketch: &mut Sketch<'_>) -> Operation {
    let rotated = with(
        with_text(),
        json!({"previous_valid_until": "2026-11-21T20:10:58.145Z"}),
    );
    Operation::new("rotateKey", "Keys", "Rotate a key")
        .text("The same key, with the same limits and the same spending. At most 8 earlier texts are valid at once.")
        .path_id("key_id", ID)
        .optional_body(Rotation::schema(&[]), &[("A key that has leaked", json!({"overlap_hours": 0}))])
        .answer(Answer::json(200, "The key with its new text.", sketch.schema::<ApiKey>(), rotated))
        .refuses([Code::NotFound, Code::Conflict])
}
