//! Earlier formats of records, and how they become the present ones.

use super::codec::Earlier;
use crate::domain::account::Account;
use crate::domain::ids::AccountId;
use crate::domain::ledger::Balances;
use crate::domain::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(super) const ACCOUNT: Earlier<Account> = &[(1, upgraded::<AccountV1, Account>)];

fn upgraded<E: DeserializeOwned + Into<R>, R>(bytes: &[u8]) -> postcard::Result<(R, &[u8])> {
    postcard::take_from_bytes::<E>(bytes).map(|(record, rest)| (record.into(), rest))
}

/// An account without a low-balance warning.
#[derive(Deserialize, Serialize)]
pub struct AccountV1 {
    pub id: AccountId,
    pub name: String,
    pub balances: Balances,
    pub created_at: Timestamp,
    pub active: bool,
}

impl From<AccountV1> for Account {
    fn from(account: AccountV1) -> Self {
        Self {
            balances: account.balances,
            active: account.active,
            ..Self::new(account.id, account.name, account.created_at)
        }
    }
}
