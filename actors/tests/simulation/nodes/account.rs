//! Samples: an account with one key, its jobs, and the route to the only backend.

use tintype_actors::backends::{Route, Routes};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::{AccountId, KeyId, TransactionId};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{NewJob, Store, Writes};
use tintype_storage::testing::samples;

pub fn amount(text: &str) -> Amount {
    text.parse().expect("an amount")
}

/// An account with this balance, and its key of the same id.
pub fn with_balance(id: AccountId, balance: &str, at: Timestamp) -> (Account, ApiKey) {
    let balance = amount(balance);
    let account = Account {
        balances: Balances::default().deposit(balance).expect("a deposit"),
        ..Account::new(id, "an account".into(), at)
    };
    (account, ApiKey::with_all_rights(KeyId(id.0), id, at))
}

/// The writes that open this account with this key.
pub fn opened(store: &Store, (account, key): (Account, ApiKey)) -> Writes {
    let Account { id, balances, .. } = account;
    let opening = LedgerEntry::opening(TransactionId(id.0), balances.balance, account.created_at);
    let mut writes = store.open_account(&account, Some(&opening));
    writes.extend(store.put_key(&KeyHash([id.0.as_bytes()[15]; 32]), &key));
    writes
}

pub fn fox(account: AccountId, tier: Tier, price: &str) -> NewJob {
    NewJob {
        tier,
        ..samples::new_job(KeyId(account.0), amount(price))
    }
}

/// All tiers on the first backend.
pub fn only_backend() -> Routes {
    let route = Route {
        backend: 0,
        model: None,
        weight: None,
    };
    Routes([1, 2, 3].map(|_| vec![route.clone()]))
}
