//! Paginated lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A page of a list.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The entries of this page.
    pub data: Vec<T>,
    /// Send it as `cursor` to get the next page. `null` on the last page.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// `next` is the last id of this page, if another page may follow.
    pub fn of(data: Vec<T>, next: Option<[u8; 16]>) -> Self {
        Self {
            data,
            next_cursor: next.map(|id| Uuid::from_bytes(id).simple().to_string()),
        }
    }
}
