//! People of accounts.

use super::tables::{PEOPLE, PEOPLE_BY_EMAIL};
use super::{PersonRef, Store, StoreError, Writes};
use crate::domain::person::{Digest32, Email, Person};
use sha2::{Digest as _, Sha256};

impl Store {
    /// The person of any account with this email address.
    pub async fn person_by_email(&self, email: &Email) -> Result<Option<Person>, StoreError> {
        match PEOPLE_BY_EMAIL.get(self, &email_hash(email)).await? {
            Some(found) => PEOPLE.get(self, &(found.account, found.person)).await,
            None => Ok(None),
        }
    }

    /// Adds a person, or changes one whose email address stays the same.
    pub fn put_person(&self, person: &Person) -> Writes {
        let person_ref = PersonRef {
            account: person.account,
            person: person.id,
        };
        vec![
            PEOPLE.put(&(person.account, person.id), person),
            PEOPLE_BY_EMAIL.put(&email_hash(&person.email), &person_ref),
        ]
    }

    /// Deletes a person. Their sessions are refused from then on.
    pub fn remove_person(&self, person: &Person) -> Writes {
        vec![
            PEOPLE.delete(&(person.account, person.id)),
            PEOPLE_BY_EMAIL.delete(&email_hash(&person.email)),
        ]
    }
}

/// The key of [`PEOPLE_BY_EMAIL`].
pub(crate) fn email_hash(email: &Email) -> Digest32 {
    Digest32(Sha256::digest(email.as_str().as_bytes()).into())
}
