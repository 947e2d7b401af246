//! Parses the filters of a list of jobs.

use super::paging::{self, Window};
use super::query;
use crate::application::jobs::filter::JobFilter;
use crate::web::problem::{FieldFault, Problem};
use actix_web::HttpRequest;
use std::time::Duration;
use tintype_storage::domain::job::JobStatus;
use tintype_storage::domain::tier::{Mode, Tier};

const NAMES: &[&str] = &[
    "status",
    "tier",
    "mode",
    "key",
    "batch_id",
    "created_after",
    "created_before",
    "metadata[]",
];
/// Words of the prompt; only in the panel.
const PROMPT: &str = "prompt";
/// Only in the panel.
const FAVOURITE: &str = "favourite";
const MAX_PROMPT_CHARS: usize = 200;
const MAX_MEMBERS: usize = 10;

/// # Errors
/// 422 with every invalid parameter
pub fn from_request(request: &HttpRequest) -> Result<(Window, JobFilter), Problem> {
    read_all(request, NAMES)
}

/// The panel can also filter by the prompt and for favourites.
pub fn of_panel(request: &HttpRequest) -> Result<(Window, JobFilter), Problem> {
    read_all(request, &[NAMES, &[PROMPT, FAVOURITE]].concat())
}

fn read_all(request: &HttpRequest, names: &[&str]) -> Result<(Window, JobFilter), Problem> {
    let mut filter = JobFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value);
    let window = paging::filtered_window(request, names, take)?;
    Ok((window, filter))
}

/// Reads one parameter. Some have another name in the operator's lists.
pub fn read(filter: &mut JobFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    let fault = |message: String| FieldFault::new(name, message);
    match name {
        "status" => filter.status = Some(query::one_of(name, value, JobStatus::names())?),
        "tier" => filter.tier = Some(query::one_of(name, value, Tier::names())?),
        "mode" => filter.mode = Some(query::one_of(name, value, Mode::names())?),
        "key" | "key_id" => {
            let message = "must be the key_id of an API key";
            filter.key = Some(value.parse().map_err(|_| fault(message.into()))?);
        }
        "batch_id" => {
            let message = "must be the batch_id of a batch";
            filter.batch = Some(value.parse().map_err(|_| fault(message.into()))?);
        }
        PROMPT if value.chars().count() > MAX_PROMPT_CHARS => {
            let message = format!("may have at most {MAX_PROMPT_CHARS} characters");
            return Err(fault(message));
        }
        PROMPT => {
            let words = value.split_whitespace();
            filter.words = words.map(str::to_lowercase).collect();
        }
        FAVOURITE if value == "true" => filter.is_favourite = true,
        FAVOURITE => return Err(fault("must be true".into())),
        "created_after" | "from" => filter.created_after = Some(query::moment(name, value)?),
        "created_before" => filter.created_before = Some(query::moment(name, value)?),
        "to" => {
            let last = query::moment(name, value)?;
            filter.created_before = Some(last.plus(Duration::from_millis(1)));
        }
        _ if filter.metadata.len() == MAX_MEMBERS => {
            return Err(fault(format!(
                "exceeds the limit of {MAX_MEMBERS} metadata filters"
            )));
        }
        // The only remaining name is `metadata[...]`.
        name => {
            let member = name.strip_prefix("metadata[").unwrap_or(name);
            let member = member.strip_suffix(']').unwrap_or(member);
            filter.metadata.push((member.to_owned(), value.to_owned()));
        }
    }
    Ok(())
}
