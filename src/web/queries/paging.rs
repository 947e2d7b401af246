//! Paginated lists with `limit` and `cursor`.

use super::query::MAX_FAULTS;
pub use crate::application::paging::Window;
use crate::web::problem::{FieldFault, Problem};
use actix_web::HttpRequest;
use futures_util::future::try_join_all;
use std::collections::HashSet;
pub use tintype_api::Page;
use tintype_api::fields::shown;
use tintype_storage::store;
use uuid::Uuid;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// # Errors
/// 422 for an invalid limit or cursor, or an unknown parameter
pub fn window(request: &HttpRequest) -> Result<Window, Problem> {
    filtered_window(request, &[], |_, _| Ok(()))
}

/// Passes each filter parameter in `names` to `take`. A name that ends in `[]` matches any word between the brackets.
pub fn filtered_window(
    request: &HttpRequest,
    names: &[&str],
    take: impl FnMut(&str, &str) -> Result<(), FieldFault>,
) -> Result<Window, Problem> {
    let id = |cursor: &str| Some(Uuid::try_parse(cursor).ok()?.into_bytes());
    let (limit, after) = limit_and_cursor(request, names, id, take)?;
    Ok(Window { limit, after })
}

/// As [`filtered_window`], for a list whose entries have no id: `cursor` parses its cursors.
pub fn limit_and_cursor<C>(
    request: &HttpRequest,
    names: &[&str],
    cursor: impl Fn(&str) -> Option<C>,
    mut take: impl FnMut(&str, &str) -> Result<(), FieldFault>,
) -> Result<(usize, Option<C>), Problem> {
    let (mut limit, mut after) = (DEFAULT_LIMIT, None);
    let mut faults = Vec::new();
    let mut seen = HashSet::new();
    for (name, value) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
        if faults.len() >= MAX_FAULTS {
            break;
        }
        if !seen.insert(name.clone()) {
            faults.push(FieldFault::new(
                shown(&name),
                "is given twice; send it once",
            ));
            continue;
        }
        match &*name {
            "limit" => match value
                .parse()
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
            {
                Some(number) => limit = number,
                None => faults.push(FieldFault::new(
                    "limit",
                    format!("must be a number from 1 to {MAX_LIMIT}"),
                )),
            },
            "cursor" => match cursor(&value) {
                Some(last) => after = Some(last),
                None => faults.push(FieldFault::new(
                    "cursor",
                    "must be a next_cursor of this list",
                )),
            },
            name if names.iter().any(|it| is_named(it, name)) => {
                faults.extend(take(name, &value).err());
            }
            other => {
                let known = [&["limit", "cursor"], names].concat().join(", ");
                faults.push(FieldFault::new(
                    shown(other),
                    format!("is unknown; the parameters are {known}"),
                ));
            }
        }
    }
    if faults.is_empty() {
        Ok((limit, after))
    } else {
        Err(Problem::validation(faults))
    }
}

fn is_named(known: &str, name: &str) -> bool {
    match known.strip_suffix("[]") {
        Some(stem) => {
            let word = name.strip_prefix(stem).and_then(|it| it.strip_prefix('['));
            word.is_some_and(|it| it.ends_with(']'))
        }
        None => known == name,
    }
}

pub fn to_page<R, T>(page: store::Page<R>, view: impl FnMut(R) -> T) -> Page<T> {
    Page::of(page.items.into_iter().map(view).collect(), page.next)
}

/// [`to_page`] with a view that reads; the reads run concurrently.
pub async fn to_page_async<R, T, E>(
    page: store::Page<R>,
    view: impl AsyncFn(R) -> Result<T, E>,
) -> Result<Page<T>, E> {
    let data = try_join_all(page.items.into_iter().map(|it| view(it))).await?;
    Ok(Page::of(data, page.next))
}

/// [`to_page`] with a fallible view.
pub fn try_to_page<R, T, E>(
    page: store::Page<R>,
    view: impl FnMut(R) -> Result<T, E>,
) -> Result<Page<T>, E> {
    let data = page.items.into_iter().map(view).collect::<Result<_, _>>()?;
    Ok(Page::of(data, page.next))
}
