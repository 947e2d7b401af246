//! Members of a JSON object with their paths. A camelCase name also stands for its snake_case form, as in the JSON format of protobuf.

use crate::compat::refusal::Refusal;
use tintype_storage::json::Json;

/// An object with its path, for messages.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    path: &'a str,
    members: &'a [(String, Json)],
}

/// A value with its path.
pub struct Field<'a> {
    /// Such as `contents[0].parts[1].inlineData`.
    pub path: String,
    /// Never `null`.
    pub value: &'a Json,
}

impl<'a> Object<'a> {
    /// A value that must be an object. The path of the body is empty.
    pub fn of(path: &'a str, value: &'a Json) -> Result<Self, Refusal> {
        match value {
            Json::Object(members) => Ok(Self { path, members }),
            _ if path.is_empty() => Err(Refusal::body("the request body must be a JSON object")),
            _ => Err(Refusal::field(path, "must be an object")),
        }
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = (&'a str, &'a Json)> {
        self.members.iter().map(|(name, value)| (&**name, value))
    }

    /// A member by its name. `null` counts as missing.
    ///
    /// Builds no text for a missing member: a body can have hundreds of thousands of objects.
    pub fn get(&self, name: &str) -> Result<Option<Field<'a>>, Refusal> {
        let mut found = self
            .members
            .iter()
            .filter(|(it, value)| {
                (it == name || is_snake_case_of(it, name)) && *value != Json::Null
            })
            .map(|(_, value)| value);
        let Some(value) = found.next() else {
            return Ok(None);
        };
        let path = self.path_of(name);
        match found.next() {
            None => Ok(Some(Field { path, value })),
            Some(_) => {
                let snake = snake_case(name);
                let message = format!("is given twice, as `{name}` and as `{snake}`");
                Err(Refusal::field(path, message))
            }
        }
    }

    /// The path of a member.
    pub fn path_of(&self, name: &str) -> String {
        match self.path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// The path and value of a member that must be a string.
    pub fn text(&self, name: &str) -> Result<Option<(String, &'a str)>, Refusal> {
        let Some(found) = self.get(name)? else {
            return Ok(None);
        };
        match found.value {
            Json::String(text) => Ok(Some((found.path, text))),
            _ => Err(Refusal::field(found.path, "must be a string")),
        }
    }

    /// The path and value of a member that must be there, and be a string.
    pub fn required(&self, name: &str) -> Result<(String, &'a str), Refusal> {
        let found = self.text(name)?;
        found.ok_or_else(|| Refusal::missing(self.path_of(name), ""))
    }

    /// Refuses members, each with its message.
    pub fn refuse(&self, unsupported: &[(&str, &str)]) -> Result<(), Refusal> {
        for (name, message) in unsupported {
            if let Some(found) = self.get(name)? {
                return Err(Refusal::field(found.path, message));
            }
        }
        Ok(())
    }

    /// A member that must be true or false, its default.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name)? {
            None => Ok(false),
            Some(Field {
                value: Json::Bool(value),
                ..
            }) => Ok(*value),
            Some(found) => Err(Refusal::field(found.path, "must be true or false")),
        }
    }

    /// Whether a member is `true`.
    pub fn is_set(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self
            .get(name)?
            .is_some_and(|found| *found.value == Json::Bool(true)))
    }
}

impl<'a> Field<'a> {
    /// The entries of an array, or the value itself if it is not an array.
    pub fn entries(&self) -> impl Iterator<Item = Field<'a>> {
        let (items, is_array) = match self.value {
            Json::Array(items) => (items.as_slice(), true),
            value => (std::slice::from_ref(value), false),
        };
        items.iter().enumerate().map(move |(at, value)| Field {
            path: match is_array {
                true => format!("{}[{at}]", self.path),
                false => self.path.clone(),
            },
            value,
        })
    }

    pub fn object(&self) -> Result<Object<'_>, Refusal> {
        Object::of(&self.path, self.value)
    }
}

fn snake_case(name: &str) -> String {
    snake_case_letters(name).collect()
}

fn is_snake_case_of(text: &str, name: &str) -> bool {
    text.chars().eq(snake_case_letters(name))
}

fn snake_case_letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(|letter| {
        let underscore = letter.is_ascii_uppercase().then_some('_');
        underscore.into_iter().chain([letter.to_ascii_lowercase()])
    })
}
