//! What an account has, and what became of it.

use super::examples::{charge, page};
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use serde_json::json;
use tintype_api::{Balance, Transaction};

/// `GET /balance`
pub fn balance(sketch: &mut Sketch<'_>) -> Operation {
    let example = json!({"balance": "99.866", "reserved": "0.134", "available": "99.732"});
    let told = Answer::json(
        200,
        "The account's money.",
        sketch.schema::<Balance>(),
        example,
    );
    Operation::new("showBalance", "Account", "Get the balance")
        .text("All three amounts are of one moment: `available` is `balance` without `reserved`.")
        .answer(told.not_stored())
}

/// `GET /transactions`
pub fn transactions(sketch: &mut Sketch<'_>) -> Operation {
    let listed = Answer::json(
        200,
        "A page of the ledger.",
        sketch.schema::<Listing<Transaction>>(),
        page(charge()),
    );
    Operation::new("listTransactions", "Account", "List transactions")
        .text("What came in and what each picture cost, with the balance after each line; newest first.")
        .window()
        .answer(listed.not_stored())
}
