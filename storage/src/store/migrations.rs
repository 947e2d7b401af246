//! Earlier formats of records, and how they become the present ones.
//!
//! No release has changed a record yet. Format 0 of an account is made up: it exists only in builds for tests, which check with
//! it that a store with earlier formats opens, passes verification and can be exported.

use super::codec::Earlier;
use crate::domain::account::Account;

#[cfg(feature = "testing")]
pub use format_0::AccountV0;

#[cfg(not(feature = "testing"))]
pub(super) const ACCOUNT: Earlier<Account> = &[];
#[cfg(feature = "testing")]
pub(super) const ACCOUNT: Earlier<Account> = &[(0, format_0::upgraded::<AccountV0, Account>)];

#[cfg(feature = "testing")]
mod format_0 {
    use crate::domain::account::Account;
    use crate::domain::ids::AccountId;
    use crate::domain::ledger::Balances;
    use crate::domain::time::Timestamp;
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Serialize};

    pub fn upgraded<E: DeserializeOwned + Into<R>, R>(
        bytes: &[u8],
    ) -> postcard::Result<(R, &[u8])> {
        postcard::take_from_bytes::<E>(bytes).map(|(record, rest)| (record.into(), rest))
    }

    /// An account that cannot be deactivated.
    #[derive(Deserialize, Serialize)]
    pub struct AccountV0 {
        pub id: AccountId,
        pub name: String,
        pub balances: Balances,
        pub created_at: Timestamp,
    }

    impl From<AccountV0> for Account {
        fn from(account: AccountV0) -> Self {
            Self {
                id: account.id,
                name: account.name,
                balances: account.balances,
                created_at: account.created_at,
                active: true,
            }
        }
    }
}
