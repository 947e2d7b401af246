//! Describes the calls on the balance and the transactions.

use super::examples::{charge, page};
use crate::http::openapi::{DocumentBuilder, Operation};
use serde_json::json;
use tintype_api::{Balance, Transaction};

/// `GET /balance`
pub fn balance(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({"balance": "99.866", "reserved": "0.134", "available": "99.732"});
    let response = builder.response::<Balance>(200, "The account's balance.", example);
    Operation::new("showBalance", "Account", "Get the balance")
        .text("All three amounts are from the same point in time: `available` is `balance` minus `reserved`.")
        .response(response.not_stored())
}

/// `GET /transactions`
pub fn transactions(builder: &mut DocumentBuilder<'_>) -> Operation {
    let response = builder.page::<Transaction>("A page of the ledger.", page(charge()));
    Operation::new("listTransactions", "Account", "List transactions")
        .text("Deposits and the price of each image, with the balance after each entry; newest first.")
        .window()
        .response(response.not_stored())
}
