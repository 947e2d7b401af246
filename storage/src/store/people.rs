//! People of accounts and the sessions of the panel.

use super::tables::{OPERATOR_SESSIONS, PEOPLE, PEOPLE_BY_EMAIL, SESSIONS};
use super::{Generation, Page, PersonPlace, Store, StoreError, Writes};
use crate::domain::ids::AccountId;
use crate::domain::person::{Digest32, Email, Person, PersonId, Session};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};
use sha2::{Digest as _, Sha256};

impl Store {
    /// A person of an account. One of another account is not found.
    pub async fn person(
        &self,
        account: AccountId,
        id: PersonId,
    ) -> Result<Option<Person>, StoreError> {
        PEOPLE.get(self, &(account, id)).await
    }

    /// The person with this e-mail address, of any account.
    pub async fn person_by_email(&self, email: &Email) -> Result<Option<Person>, StoreError> {
        match PEOPLE_BY_EMAIL.get(self, &email_hash(email)).await? {
            Some(place) => self.person(place.account, place.person).await,
            None => Ok(None),
        }
    }

    /// A page of an account's people, oldest first.
    pub async fn people_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Person>, StoreError> {
        let page = PEOPLE
            .page(self, &account, Direction::Rising, limit, after)
            .await?;
        Ok(page.records())
    }

    /// The writes that add a person, or change one whose e-mail address stays.
    pub fn put_person(&self, person: &Person) -> Writes {
        let place = PersonPlace {
            account: person.account,
            person: person.id,
        };
        vec![
            PEOPLE.put(&(person.account, person.id), person),
            PEOPLE_BY_EMAIL.put(&email_hash(&person.email), &place),
        ]
    }

    /// The writes that remove a person. Their sessions are refused from then on.
    pub fn remove_person(&self, person: &Person) -> Writes {
        vec![
            PEOPLE.delete(&(person.account, person.id)),
            PEOPLE_BY_EMAIL.delete(&email_hash(&person.email)),
        ]
    }

    /// A session, by the hash of its id.
    pub async fn session(&self, id: &Digest32) -> Result<Option<Session>, StoreError> {
        SESSIONS.get(self, id).await
    }

    /// The writes that begin a session, or record its use.
    pub fn put_session(&self, id: &Digest32, session: &Session) -> Writes {
        vec![SESSIONS.put(id, session)]
    }

    /// The writes that end a session.
    pub fn remove_session(&self, id: &Digest32) -> Writes {
        vec![SESSIONS.delete(id)]
    }

    /// The generation of the operator's sessions.
    pub async fn operator_generation(&self) -> Result<Generation, StoreError> {
        Ok(OPERATOR_SESSIONS.get(self, &()).await?.unwrap_or_default())
    }

    /// The writes that begin a generation of the operator's sessions.
    pub fn set_operator_generation(&self, generation: Generation) -> Writes {
        vec![OPERATOR_SESSIONS.put(&(), &generation)]
    }

    /// The writes that forget sessions that are over, among the next `limit` from `cursor` on, and where to go on: empty at
    /// the end.
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

/// Where [`PEOPLE_BY_EMAIL`] has an address.
pub(crate) fn email_hash(email: &Email) -> Digest32 {
    Digest32(Sha256::digest(email.as_str().as_bytes()).into())
}
