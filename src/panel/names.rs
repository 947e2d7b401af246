//! Names of accounts, people and keys, each looked up once per response.

use crate::application::core::Core;
use std::collections::HashMap;
use std::hash::Hash;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::person::PersonId;
use tintype_storage::store::tables::PEOPLE;
use tintype_storage::store::{KeyName, StoreError};

/// The names that one response needs. A name is `None` if its record was deleted; a deleted key keeps its name.
#[derive(Default)]
pub struct Names {
    accounts: HashMap<AccountId, Option<String>>,
    people: HashMap<PersonId, Option<String>>,
    keys: HashMap<KeyId, Option<KeyName>>,
}

type Name = Result<Option<String>, StoreError>;

impl Names {
    pub async fn account(&mut self, core: &Core, id: AccountId) -> Name {
        let look_up = async || Ok(core.store.account(id).await?.map(|it| it.name));
        get_or_look_up(&mut self.accounts, id, look_up).await
    }

    /// The email address of a person.
    pub async fn person(&mut self, core: &Core, account: AccountId, id: PersonId) -> Name {
        let look_up = async || {
            let person = PEOPLE.get(&core.store, &(account, id)).await?;
            Ok(person.map(|it| it.email.as_str().to_owned()))
        };
        get_or_look_up(&mut self.people, id, look_up).await
    }

    pub async fn key(&mut self, core: &Core, id: KeyId) -> Result<Option<KeyName>, StoreError> {
        get_or_look_up(&mut self.keys, id, async || core.store.key_name(id).await).await
    }
}

async fn get_or_look_up<I: Copy + Eq + Hash, N: Clone>(
    names: &mut HashMap<I, Option<N>>,
    id: I,
    look_up: impl AsyncFnOnce() -> Result<Option<N>, StoreError>,
) -> Result<Option<N>, StoreError> {
    if let Some(name) = names.get(&id) {
        return Ok(name.clone());
    }
    let name = look_up().await?;
    names.insert(id, name.clone());
    Ok(name)
}
