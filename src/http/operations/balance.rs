//! Describes the calls on the balance and the transactions.

use super::examples::{charge, page};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc};
use crate::web::paging::Listing;
use serde_json::json;
use tintype_api::{Balance, Transaction};

/// `GET /balance`
pub fn balance(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({"balance": "99.866", "reserved": "0.134", "available": "99.732"});
    let response = ResponseDoc::json(
        200,
        "The account's balance.",
        builder.schema::<Balance>(),
        example,
    );
    Operation::new("showBalance", "Account", "Get the balance")
        .text("All three amounts are from the same point in time: `available` is `balance` minus `reserved`.")
        .response(response.not_stored())
}

/// `GET /transactions`
pub fn transactions(builder: &mut DocumentBuilder<'_>) -> Operation {
    let response = ResponseDoc::json(
        200,
        "A page of the ledger.",
        builder.schema::<Listing<Transaction>>(),
        page(charge()),
    );
    Operation::new("listTransactions", "Account", "List transactions")
        .text("Deposits and the price of each image, with the balance after each entry; newest first.")
        .window()
        .response(response.not_stored())
}
