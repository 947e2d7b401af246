//! People of accounts and their panel sessions.

use super::tables::{OPERATOR_SESSIONS, PEOPLE, PEOPLE_BY_EMAIL, SESSIONS};
use super::{All, Generation, Page, PersonRef, Store, StoreError, Writes};
use crate::domain::ids::AccountId;
use crate::domain::person::{Digest32, Email, Person, PersonId, Session};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};
use sha2::{Digest as _, Sha256};

impl Store {
    /// A person of another account is not found.
    pub async fn person(
        &self,
        account: AccountId,
        id: PersonId,
    ) -> Result<Option<Person>, StoreError> {
        PEOPLE.get(self, &(account, id)).await
    }

    /// The person of any account with this email address.
    pub async fn person_by_email(&self, email: &Email) -> Result<Option<Person>, StoreError> {
        match PEOPLE_BY_EMAIL.get(self, &email_hash(email)).await? {
            Some(found) => self.person(found.account, found.person).await,
            None => Ok(None),
        }
    }

    /// Whether any account has people. Invited people count.
    pub async fn has_people(&self) -> Result<bool, StoreError> {
        let first = PEOPLE.first(self, &All, Direction::Rising).await?;
        Ok(first.is_some())
    }

    /// Oldest first.
    pub async fn people_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Person>, StoreError> {
        PEOPLE
            .page(self, &account, Direction::Rising, limit, after)
            .await
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

    /// By the hash of the session's id.
    pub async fn session(&self, id: &Digest32) -> Result<Option<Session>, StoreError> {
        SESSIONS.get(self, id).await
    }

    /// Starts a session or records its use.
    pub fn put_session(&self, id: &Digest32, session: &Session) -> Writes {
        vec![SESSIONS.put(id, session)]
    }

    pub fn remove_session(&self, id: &Digest32) -> Writes {
        vec![SESSIONS.delete(id)]
    }

    pub async fn operator_generation(&self) -> Result<Generation, StoreError> {
        Ok(OPERATOR_SESSIONS.get(self, &()).await?.unwrap_or_default())
    }

    pub fn set_operator_generation(&self, generation: Generation) -> Writes {
        vec![OPERATOR_SESSIONS.put(&(), &generation)]
    }

    /// Deletes expired sessions among the next `limit` from `cursor` on. Returns the next cursor, empty at the end.
    pub async fn forget_sessions(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        SESSIONS
            .forget(self, cursor, limit, |session| !session.is_alive(now))
            .await
    }
}

/// The key of [`PEOPLE_BY_EMAIL`].
pub(crate) fn email_hash(email: &Email) -> Digest32 {
    Digest32(Sha256::digest(email.as_str().as_bytes()).into())
}
