//! The argument that names an API key: its id or its display name.

use super::operator::Operator;
use anyhow::bail;
use std::convert::Infallible;
use std::str::FromStr;
use tintype_api::ApiKey;
use tintype_storage::domain::api_key::{PREFIX, text_prefix};
use tintype_storage::domain::ids::KeyId;

#[derive(Clone)]
pub enum KeyRef {
    Id(KeyId),
    Name(String),
    /// The key itself, given by mistake. Parsed, because the message about an argument that does not parse would repeat the secret.
    Key(String),
}

impl FromStr for KeyRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.parse() {
            Ok(id) => Self::Id(id),
            Err(_) if text.starts_with(PREFIX) => Self::Key(text.to_owned()),
            Err(_) => Self::Name(text.to_owned()),
        })
    }
}

impl KeyRef {
    /// Looks up a name among the keys of `account`, or of the only account.
    pub async fn resolve(
        &self,
        operator: &Operator,
        account: Option<&str>,
    ) -> anyhow::Result<String> {
        let name = match self {
            Self::Id(id) => return Ok(id.to_string()),
            Self::Key(text) => bail!(
                "the argument is an API key, not its id; find the id with `tintype key list`: the prefix of the key is {}",
                text_prefix(text)
            ),
            Self::Name(name) => name,
        };
        let path = operator.account_path(account, "/keys").await?;
        let keys: Vec<ApiKey> = operator.all(&path).await?;
        let found = keys.iter().filter(|it| it.name == *name);
        let found: Vec<&str> = found.map(|it| &*it.key_id).collect();
        match found.as_slice() {
            [id] => Ok((*id).to_owned()),
            [] => bail!(
                "there is no key `{name}`; find its id with `tintype key list`, or with `tintype audit list --action key` if the key was deleted"
            ),
            several => bail!(
                "several keys are named `{name}`; choose one by id: {}",
                several.join(", ")
            ),
        }
    }
}
