//! Accounts and deposits on the wire.

use super::fields::Fields;
use super::kinds;
use crate::application::error::{Error, FieldFault};
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::ledger::Balances;

/// Of a name for people.
pub const MAX_NAME_CHARS: usize = 200;
/// The fields of a new account.
pub const OPENING: &[&str] = &["name", "balance"];
/// What can be changed of one.
pub const CHANGE: &[&str] = &["name", "active"];

/// The longest reference of a deposit.
pub const MAX_REFERENCE_CHARS: usize = 500;
/// The fields of a deposit.
pub const DEPOSIT: &[&str] = &["amount", "reference"];

/// An account on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Account", deny_unknown_fields)]
pub struct AccountView {
    /// The account's id.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// A name for people.
    name: String,
    /// What has been paid in and not been charged.
    #[schemars(with = "kinds::Money")]
    balance: String,
    /// What is held for jobs that are not over.
    #[schemars(with = "kinds::Money")]
    reserved: String,
    /// What can be spent now.
    #[schemars(with = "kinds::Money")]
    available: String,
    /// When it was opened.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
    /// Only of an account that is switched off: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "kinds::Off")]
    active: Option<bool>,
}

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        Self {
            account_id: account.id.to_string(),
            balance: account.balances.balance.to_string(),
            reserved: account.balances.reserved.to_string(),
            available: account.balances.available().to_string(),
            created_at: account.created_at.to_string(),
            active: (!account.active).then_some(false),
            name: account.name,
        }
    }
}

/// A name for people. It is not trimmed; it is neither empty nor longer than the bound.
pub fn read_name(fields: &mut Fields<'_>, name: Option<String>) -> Option<String> {
    let name = name?;
    let chars = name.chars().count();
    if (1..=MAX_NAME_CHARS).contains(&chars) && !name.chars().any(char::is_control) {
        return Some(name);
    }
    fields.fault(
        "name",
        format!("must be 1 to {MAX_NAME_CHARS} characters without control characters"),
    );
    None
}

/// The idempotency key of a call, or what is wrong with it.
pub type GivenKey = Result<Option<String>, FieldFault>;

fn take_key(fields: &mut Fields<'_>, key: GivenKey) -> Option<String> {
    key.unwrap_or_else(|fault| {
        fields.fault(fault.field, fault.message);
        None
    })
}

/// An account that is to be opened.
pub struct NewAccount {
    pub name: String,
    pub balance: Amount,
    pub balances: Balances,
    pub idempotency_key: Option<String>,
}

impl NewAccount {
    pub fn read(body: &[u8], key: GivenKey) -> Result<Self, Error> {
        let mut fields = Fields::parse(body).map_err(Error::invalid)?;
        let name = fields.required_string("name");
        let name = read_name(&mut fields, name);
        let balance = fields.optional_amount("balance").unwrap_or_default();
        let books = Balances::default().deposit(balance);
        let books = fields.checked("balance", books);
        let idempotency_key = take_key(&mut fields, key);
        fields.finish(OPENING).map_err(Error::invalid)?;
        let (Some(name), Some(books)) = (name, books) else {
            return Err(Error::field("body", "is incomplete"));
        };
        Ok(Self {
            name,
            balance,
            balances: books,
            idempotency_key,
        })
    }
}

/// What a body asks to be different about an account.
pub fn read_change(body: &[u8]) -> Result<AccountChange, Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let name = fields.optional_string("name");
    let change = AccountChange {
        name: read_name(&mut fields, name),
        active: fields.optional_bool("active"),
    };
    fields.finish(CHANGE).map_err(Error::invalid)?;
    Ok(change)
}

/// A deposit that is to be made.
pub struct NewDeposit {
    pub amount: Amount,
    pub reference: Option<String>,
    pub idempotency_key: Option<String>,
}

impl NewDeposit {
    pub fn read(body: &[u8], key: GivenKey) -> Result<Self, Error> {
        let mut fields = Fields::parse(body).map_err(Error::invalid)?;
        let amount = fields.required_string("amount");
        let amount = amount.and_then(|text| fields.checked("amount", text.parse::<Amount>()));
        if amount.is_some_and(Amount::is_zero) {
            fields.fault("amount", "must not be zero");
        }
        let reference = fields.optional_string("reference");
        let chars = reference.as_ref().map_or(0, |text| text.chars().count());
        if chars > MAX_REFERENCE_CHARS {
            let message = format!("must have at most {MAX_REFERENCE_CHARS} characters");
            fields.fault("reference", message);
        }
        let idempotency_key = take_key(&mut fields, key);
        fields.finish(DEPOSIT).map_err(Error::invalid)?;
        Ok(Self {
            amount: amount.ok_or_else(|| Error::field("amount", "is required"))?,
            reference,
            idempotency_key,
        })
    }
}
