//! The limits of a key and of an account. They hold over all nodes together.

use super::account::{amount, with_balance};
use super::scenario::ACCOUNTS;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::account_limits::AccountLimits;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::ledger::LedgerError;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Key, Value};
use tintype_storage::store::AcceptError;
use tintype_storage::store::tables::{ACCOUNT_LOADS, ACCOUNTS as ACCOUNT_RECORDS};

const UNLIMITED: &str = "100";
/// The second account: its key may spend this much, and have this many live jobs.
const SPEND_LIMIT: &str = "0.40";
const MAX_LIVE_OF_KEY: u32 = 6;
/// The third account: its opening balance, and its live jobs.
const SCARCE: &str = "0.60";
const MAX_LIVE_OF_ACCOUNT: u32 = 8;

/// An account and its key with their limits.
pub fn limited_account(id: AccountId, at: Timestamp) -> (Account, ApiKey) {
    let balance = match id == ACCOUNTS[2] {
        true => SCARCE,
        false => UNLIMITED,
    };
    let (account, key) = with_balance(id, balance, at);
    if account.id == ACCOUNTS[1] {
        let key = ApiKey {
            spend_limit: Some(amount(SPEND_LIMIT)),
            max_concurrent: Some(MAX_LIVE_OF_KEY),
            ..key
        };
        return (account, key);
    }
    let limits = AccountLimits {
        max_concurrent: (account.id == ACCOUNTS[2]).then_some(MAX_LIVE_OF_ACCOUNT),
        ..AccountLimits::default()
    };
    (Account { limits, ..account }, key)
}

/// The event of a refusal for a limit or for money.
pub fn refusal(error: &AcceptError) -> Option<&'static str> {
    match error {
        AcceptError::KeyLimit(_) => Some("refused for the spend limit of a key"),
        AcceptError::TooManyLiveOfKey { .. } => Some("refused for the live jobs of a key"),
        AcceptError::TooManyLive { .. } => Some("refused for the live jobs of an account"),
        AcceptError::Ledger(LedgerError::Insufficient { .. }) => Some("refused for the balance"),
        _ => None,
    }
}

/// The limits that the records of a durable commit exceed.
pub fn faults(writes: &[(Key, Option<Value>)]) -> Vec<String> {
    let mut faults = Vec::new();
    let written = writes
        .iter()
        .filter_map(|(key, value)| Some((key, value.as_ref()?)));
    for (key, value) in written {
        if let Some((id, account)) = ACCOUNT_RECORDS.entry(key, value).expect("an account") {
            let balances = account.balances;
            let used = balances.charged.plus(balances.reserved).expect("a sum");
            if id == ACCOUNTS[1] && used > amount(SPEND_LIMIT) {
                faults.push(format!(
                    "{used} of {SPEND_LIMIT} are spent and reserved by a key"
                ));
            }
            if balances.reserved > balances.balance {
                faults.push(format!(
                    "{id} has reserved more than its balance: {balances:?}"
                ));
            }
        }
        if let Some((id, load)) = ACCOUNT_LOADS.entry(key, value).expect("a load") {
            let most = match ACCOUNTS.iter().position(|it| *it == id) {
                Some(1) => MAX_LIVE_OF_KEY,
                Some(2) => MAX_LIVE_OF_ACCOUNT,
                _ => continue,
            };
            if load.live_jobs > u64::from(most) {
                let live = load.live_jobs;
                faults.push(format!("{id} has {live} live jobs and may have {most}"));
            }
        }
    }
    faults
}
