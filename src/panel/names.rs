//! Names of accounts, people and keys, each looked up once per answer.

use crate::application::core::Core;
use std::collections::HashMap;
use std::hash::Hash;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::person::PersonId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// The names that one answer needs. A name is `None` if its record was deleted.
#[derive(Default)]
pub struct Names {
    accounts: HashMap<AccountId, Option<String>>,
    people: HashMap<PersonId, Option<String>>,
    keys: HashMap<KeyId, Option<String>>,
}

type Name = Result<Option<String>, StoreError>;

impl Names {
    pub fn account(&mut self, core: &Core, id: AccountId) -> Name {
        get_or_look_up(&mut self.accounts, id, || {
            Ok(core.store.account(id).wait()?.map(|it| it.name))
        })
    }

    /// The email address of a person.
    pub fn person(&mut self, core: &Core, account: AccountId, id: PersonId) -> Name {
        get_or_look_up(&mut self.people, id, || {
            let person = core.store.person(account, id).wait()?;
            Ok(person.map(|it| it.email.as_str().to_owned()))
        })
    }

    pub fn key(&mut self, core: &Core, id: KeyId) -> Name {
        get_or_look_up(&mut self.keys, id, || {
            Ok(core.store.key(id).wait()?.map(|(_, key)| key.name))
        })
    }
}

fn get_or_look_up<I: Copy + Eq + Hash>(
    names: &mut HashMap<I, Option<String>>,
    id: I,
    look_up: impl FnOnce() -> Name,
) -> Name {
    if let Some(name) = names.get(&id) {
        return Ok(name.clone());
    }
    let name = look_up()?;
    names.insert(id, name.clone());
    Ok(name)
}
