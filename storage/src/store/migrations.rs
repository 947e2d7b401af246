//! Earlier shapes of records, and how they become the present ones.
//!
//! No release has changed a record yet. Format 0 of an account is made up: it exists only in builds for tests, which check with
//! it that a store with earlier shapes opens, passes verification and can be exported.

use crate::domain::account::Account;
use crate::domain::ids::AccountId;
use crate::domain::ledger::Books;
use crate::domain::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Reads an earlier shape and turns it into the present one; also returns the bytes that were left over.
pub(super) fn upgraded<E: DeserializeOwned + Into<R>, R>(
    bytes: &[u8],
) -> postcard::Result<(R, &[u8])> {
    postcard::take_from_bytes::<E>(bytes).map(|(record, rest)| (record.into(), rest))
}

/// Format 0 of an account: it cannot be deactivated.
#[derive(Deserialize, Serialize)]
pub struct AccountV0 {
    pub id: AccountId,
    pub name: String,
    pub books: Books,
    pub created_at: Timestamp,
}

impl From<AccountV0> for Account {
    fn from(account: AccountV0) -> Self {
        Self {
            id: account.id,
            name: account.name,
            books: account.books,
            created_at: account.created_at,
            active: true,
        }
    }
}
