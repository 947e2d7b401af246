//! Lists, page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A page of a list.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page", deny_unknown_fields)]
pub struct Listing<T> {
    /// The entries of this page.
    pub data: Vec<T>,
    /// What goes on from here, as `cursor`; `null` at the end of the list.
    pub next_cursor: Option<String>,
}

impl<T> Listing<T> {
    /// `next` is the last id of a page after which there may be more.
    pub fn of(data: Vec<T>, next: Option<[u8; 16]>) -> Self {
        Self {
            data,
            next_cursor: next.map(|id| Uuid::from_bytes(id).simple().to_string()),
        }
    }
}
