//! Parses the filters of a list of jobs.

use super::paging::{self, Window};
use super::problem::{FieldFault, Problem};
use crate::application::job_list::JobFilter;
use actix_web::HttpRequest;
use std::time::Duration;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;

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
const STATUSES: [&str; 4] = ["queued", "processing", "done", "failed"];
const MAX_MEMBERS: usize = 10;

/// # Errors
/// 422 with every invalid parameter
pub fn of(request: &HttpRequest) -> Result<(Window, JobFilter), Problem> {
    read_all(request, NAMES)
}

/// The panel can also filter by the prompt and for favourites.
pub fn of_panel(request: &HttpRequest) -> Result<(Window, JobFilter), Problem> {
    read_all(request, &[NAMES, &[PROMPT, FAVOURITE]].concat())
}

fn read_all(request: &HttpRequest, names: &[&str]) -> Result<(Window, JobFilter), Problem> {
    let mut filter = JobFilter::default();
    let take = |name: &str, value: &str| read(&mut filter, name, value).err();
    let window = paging::filtered_window(request, names, take)?;
    Ok((window, filter))
}

/// Reads one parameter. Some have another name in the operator's lists.
pub fn read(filter: &mut JobFilter, name: &str, value: &str) -> Result<(), FieldFault> {
    let fault = |message: String| FieldFault::new(name, message);
    let one_of = |words: &[&str]| fault(format!("must be one of {}", words.join(", ")));
    let moment = || {
        let example =
            "must be an RFC 3339 date and time, such as 2030-01-31T12:00:00Z (a + is written %2B)";
        Timestamp::parse(value).ok_or_else(|| fault(example.into()))
    };
    match name {
        "status" => {
            let known = STATUSES.into_iter().find(|it| *it == value);
            filter.status = Some(known.ok_or_else(|| one_of(&STATUSES))?);
        }
        "tier" => {
            let words = Tier::ALL.iter().map(|it| it.word()).collect::<Vec<_>>();
            filter.tier = Some(value.parse().map_err(|_| one_of(&words))?);
        }
        "mode" => {
            let words = Mode::ALL.iter().map(|it| it.word()).collect::<Vec<_>>();
            filter.mode = Some(value.parse().map_err(|_| one_of(&words))?);
        }
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
        "created_after" | "from" => filter.created_after = Some(moment()?),
        "created_before" => filter.created_before = Some(moment()?),
        // Inclusive.
        "to" => filter.created_before = Some(moment()?.plus(Duration::from_millis(1))),
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
