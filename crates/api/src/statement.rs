//! Statements of accounts: the balances at two moments, and what changed between them.

use crate::text::{Id, Money, ResolutionWord, TierWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What changed the balance of an account in a period. `opening` plus the four sums is `closing`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// The account.
    pub account_id: Id,
    /// The account's name.
    pub name: String,
    /// The currency of the amounts.
    pub currency: String,
    /// The balance before the first entry of the period.
    pub opening: Money,
    /// Money paid in.
    pub deposits: Money,
    /// What was refunded of the charges of jobs.
    pub refunds: Money,
    /// Negative corrections: zero or negative.
    pub adjustments: Money,
    /// The prices of images: zero or negative.
    pub charges: Money,
    /// The balance after the last entry of the period.
    pub closing: Money,
    /// Only with `lines=true`: the charges, for an invoice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<StatementLine>")]
    pub lines: Option<Vec<StatementLine>>,
}

/// The images of one model, resolution and price.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct StatementLine {
    /// The model. `null` if retention has deleted the jobs.
    pub model: Option<TierWord>,
    /// The resolution. `null` if retention has deleted the jobs.
    pub resolution: Option<ResolutionWord>,
    /// The price of one image.
    pub unit_price: Money,
    /// The number of images.
    pub images: u64,
    /// The price of the images.
    pub charged: Money,
}
