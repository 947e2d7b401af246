//! Checks people against their accounts and the index of email addresses.

use super::Report;
use crate::domain::ids::AccountId;
use crate::engine::Wait as _;
use crate::store::tables::PEOPLE;
use crate::store::{Store, StoreError};
use std::collections::HashSet;

/// `accounts` are the existing ones.
pub(super) fn verify(
    store: &Store,
    accounts: &HashSet<AccountId>,
    report: &mut Report,
) -> Result<(), StoreError> {
    PEOPLE.visit(store, |_, person| {
        if !accounts.contains(&person.account) {
            report.fault(format!(
                "person {} is of account {}, which does not exist",
                person.id, person.account
            ));
        }
        let found = store.person_by_email(&person.email).wait()?;
        if found.is_none_or(|it| it.id != person.id) {
            report.fault(format!(
                "person {} is not found by their email address",
                person.id
            ));
        }
        Ok(())
    })
}
