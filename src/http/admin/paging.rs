//! Lists with `limit` and `cursor`.

use crate::http::problem::{FieldFault, Problem};
use actix_web::HttpRequest;
use serde::Serialize;
use tintype_storage::store::{Page, StoreError};
use uuid::Uuid;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;
/// Records looked at for one page when a filter lets few through; the cursor then goes on from there.
const MAX_LOOKED_AT: usize = 10_000;
/// Records read at a time while looking.
const STEP: usize = 500;

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

/// A page of what a filter lets through. `read` gives the list in parts, `id` is what its cursor goes by.
pub fn sifted<R>(
    window: &Window,
    mut read: impl FnMut(usize, Option<[u8; 16]>) -> Result<Page<R>, StoreError>,
    id: impl Fn(&R) -> [u8; 16],
    lets: impl Fn(&R) -> bool,
) -> Result<Page<R>, Problem> {
    let (mut items, mut after, mut looked_at) = (Vec::new(), window.after, 0);
    loop {
        let page = read(STEP, after)?;
        looked_at += page.items.len();
        let last = page.next;
        for record in page.items {
            if items.len() == window.limit {
                let next = items.last().map(&id);
                return Ok(Page { items, next });
            }
            if lets(&record) {
                items.push(record);
            }
        }
        if last.is_none() || looked_at >= MAX_LOOKED_AT {
            return Ok(Page { items, next: last });
        }
        after = last;
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
