//! Lists with `limit` and `cursor`.

use crate::http::problem::{FieldFault, Problem};
use actix_web::HttpRequest;
use serde::Serialize;
use tintype_storage::store::Page;
use uuid::Uuid;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// Which part of a list is asked for.
pub struct Window {
    /// Entries at the most.
    pub limit: usize,
    /// The last id of the part before.
    pub after: Option<[u8; 16]>,
}

/// A list on the wire.
#[derive(Serialize)]
pub struct Listing<T: Serialize> {
    data: Vec<T>,
    next_cursor: Option<String>,
}

impl Window {
    /// From the query; 422 for a bad limit or cursor, or a parameter that lists do not have.
    pub fn of(request: &HttpRequest) -> Result<Self, Problem> {
        Self::filtered(request, &[], |_, _| None)
    }

    /// The same for a list with filters, whose `names` are handed to `take`.
    pub fn filtered(
        request: &HttpRequest,
        names: &[&str],
        mut take: impl FnMut(&str, &str) -> Option<FieldFault>,
    ) -> Result<Self, Problem> {
        let mut window = Self {
            limit: DEFAULT_LIMIT,
            after: None,
        };
        let mut faults = Vec::new();
        for (name, value) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
            match &*name {
                "limit" => match value
                    .parse()
                    .ok()
                    .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                {
                    Some(limit) => window.limit = limit,
                    None => faults.push(FieldFault::new(
                        "limit",
                        format!("must be a number from 1 to {MAX_LIMIT}"),
                    )),
                },
                "cursor" => match Uuid::try_parse(&value) {
                    Ok(id) => window.after = Some(id.into_bytes()),
                    Err(_) => faults.push(FieldFault::new(
                        "cursor",
                        "must be a next_cursor of this list",
                    )),
                },
                name if names.contains(&name) => faults.extend(take(name, &value)),
                other => {
                    let known = [&["limit", "cursor"], names].concat().join(", ");
                    faults.push(FieldFault::new(
                        other,
                        format!("is unknown; the parameters are {known}"),
                    ));
                }
            }
        }
        if faults.is_empty() {
            Ok(window)
        } else {
            Err(Problem::validation(faults))
        }
    }
}

impl<T: Serialize> Listing<T> {
    /// A page of records as their wire forms.
    pub fn new<R>(page: Page<R>, view: impl FnMut(R) -> T) -> Self {
        Self {
            data: page.items.into_iter().map(view).collect(),
            next_cursor: page
                .next
                .map(|id| Uuid::from_bytes(id).simple().to_string()),
        }
    }

    /// The same where a wire form may fail.
    pub fn try_new<R>(
        page: Page<R>,
        view: impl FnMut(R) -> Result<T, Problem>,
    ) -> Result<Self, Problem> {
        let data = page.items.into_iter().map(view).collect::<Result<_, _>>()?;
        Ok(Self {
            data,
            next_cursor: page
                .next
                .map(|id| Uuid::from_bytes(id).simple().to_string()),
        })
    }
}
