//! Query parameters and pages of OpenAI's lists.

use crate::compat::refusal::Refusal;
use actix_web::HttpRequest;
use serde_json::{Value, json};

/// Unknown parameters are ignored.
pub struct ListQuery(Vec<(String, String)>);

impl ListQuery {
    pub fn of(request: &HttpRequest) -> Self {
        let pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// The first value of this name; `None` if it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(it, _)| it == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|it| !it.is_empty())
    }

    /// # Errors
    /// `limit` is not a number from 1 to `max`.
    pub fn limit(&self, default: usize, max: usize) -> Result<usize, Refusal> {
        let Some(text) = self.get("limit") else {
            return Ok(default);
        };
        let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
        limit.ok_or_else(|| Refusal::field("limit", format!("must be a number from 1 to {max}")))
    }
}

/// Each entry must have an `id`.
pub fn page(data: Vec<Value>, has_more: bool) -> Value {
    let id = |entry: Option<&Value>| entry.map(|it| it["id"].clone());
    let (first, last) = (id(data.first()), id(data.last()));
    json!({
        "object": "list",
        "data": data,
        "first_id": first,
        "last_id": last,
        "has_more": has_more,
    })
}
