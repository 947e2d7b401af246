//! People of accounts and the sessions of the panel.

use super::{Page, Store, StoreError, Writes, encode, keys};
use crate::domain::ids::AccountId;
use crate::domain::person::{Digest32, Email, Person, PersonId, Session};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, KeyRange};
use serde::{Deserialize, Serialize};

/// The generation of the operator's sessions, which has no person to be kept with.
pub(super) const OPERATOR: &str = "operator sessions";

/// Where the person of an e-mail address is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonPlace {
    /// Of this account.
    pub account: AccountId,
    /// This one.
    pub person: PersonId,
}

/// Sessions of an earlier generation are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation(pub u32);

impl Store {
    /// A person of an account. One of another account is not found.
    pub fn person(&self, account: AccountId, id: PersonId) -> Result<Option<Person>, StoreError> {
        self.read(&keys::person(account, id))
    }

    /// The person with this e-mail address, of whichever account.
    pub fn person_by_email(&self, email: &Email) -> Result<Option<Person>, StoreError> {
        match self.read::<PersonPlace>(&keys::person_of(email))? {
            Some(place) => self.person(place.account, place.person),
            None => Ok(None),
        }
    }

    /// A page of an account's people, oldest first.
    pub fn people_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Person>, StoreError> {
        self.page(keys::people_of(account), Direction::Rising, limit, after)
    }

    /// Visits every person.
    pub(crate) fn each_person(
        &self,
        mut visit: impl FnMut(Person) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::people(), |_, person| visit(person))
    }

    /// The writes that add a person, or change one whose e-mail address stays.
    pub fn put_person(&self, person: &Person) -> Writes {
        let place = PersonPlace {
            account: person.account,
            person: person.id,
        };
        vec![
            (
                keys::person(person.account, person.id),
                Some(encode(person)),
            ),
            (keys::person_of(&person.email), Some(encode(&place))),
        ]
    }

    /// The writes that remove a person. Their sessions find nobody from then on.
    pub fn remove_person(&self, person: &Person) -> Writes {
        vec![
            (keys::person(person.account, person.id), None),
            (keys::person_of(&person.email), None),
        ]
    }

    /// A session, by the hash of its id.
    pub fn session(&self, id: &Digest32) -> Result<Option<Session>, StoreError> {
        self.read(&keys::session(id))
    }

    /// The writes that begin a session, or record its use.
    pub fn put_session(&self, id: &Digest32, session: &Session) -> Writes {
        vec![(keys::session(id), Some(encode(session)))]
    }

    /// The writes that end a session.
    pub fn remove_session(&self, id: &Digest32) -> Writes {
        vec![(keys::session(id), None)]
    }

    /// The generation of the operator's sessions.
    pub fn operator_generation(&self) -> Result<Generation, StoreError> {
        Ok(self.read(&keys::setting(OPERATOR))?.unwrap_or_default())
    }

    /// The writes that begin a generation of the operator's sessions.
    pub fn set_operator_generation(&self, generation: Generation) -> Writes {
        vec![(keys::setting(OPERATOR), Some(encode(&generation)))]
    }

    /// The writes that forget sessions that are over, among the next `limit` from `cursor` on, and where to go on: empty at
    /// the end.
    pub fn forget_sessions(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Vec<u8>), StoreError> {
        let mut range = KeyRange::prefix(&keys::sessions());
        if !cursor.is_empty() {
            range = range.above(cursor.to_vec());
        }
        let pairs = self.engine().scan(&range, Direction::Rising, limit)?;
        let (mut writes, mut last) = (Writes::new(), Vec::new());
        let ended = pairs.len() < limit;
        for (key, value) in pairs {
            if !super::decode::<Session>(&value)?.is_alive(now) {
                writes.push((key.clone(), None));
            }
            last = key;
        }
        Ok((writes, if ended { Vec::new() } else { last }))
    }
}
