//! The access of a person to an account, checked again when a call makes its change.

use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Person, PersonId, Role};
use tintype_storage::store::tables::PEOPLE;

/// What a person was allowed when a call was authenticated. The body of the call may arrive much later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersonAccess {
    account: AccountId,
    person: PersonId,
    role: Role,
    /// Rises when all sessions of the person end.
    generation: u32,
}

impl PersonAccess {
    pub fn of(person: &Person) -> Self {
        Self {
            account: person.account,
            person: person.id,
            role: person.role,
            generation: person.generation,
        }
    }

    /// Refuses a person who was removed or signed out, or whose role has changed, since the call was authenticated.
    pub async fn check(&self, core: &Core) -> Result<(), Error> {
        let id = (self.account, self.person);
        let now = PEOPLE.get(&core.store, &id).await?;
        if now.is_some_and(|it| Self::of(&it) == *self) {
            return Ok(());
        }
        let detail = "your access to this account changed while the request was on its way; reload the page and try again";
        Err(Error::new(ErrorKind::Forbidden, detail))
    }
}
