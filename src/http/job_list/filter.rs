//! Which jobs a list is to hold.

use crate::web::paging::Window;
use crate::web::problem::{FieldFault, Problem};
use actix_web::HttpRequest;
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::MAX_METADATA_DEPTH;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Part;
use uuid::Uuid;

const NAMES: &[&str] = &[
    "status",
    "tier",
    "mode",
    "key",
    "created_after",
    "created_before",
    "metadata[]",
];
const STATUSES: [&str; 4] = ["queued", "processing", "done", "failed"];
/// Members of metadata that one list can ask for.
const MOST_MEMBERS: usize = 10;
/// Ids sort by the moment of acceptance, but where the clock was set back meanwhile. It may have been by this much.
const SET_BACK: Duration = Duration::from_secs(3_600);

/// A page that is asked for.
pub struct Asked {
    /// Entries at the most.
    pub limit: usize,
    /// The last id of the page before.
    pub after: Option<JobId>,
    /// Which jobs.
    pub filter: Filter,
}

/// What a job must be like. `None` for no matter.
#[derive(Default)]
pub struct Filter {
    status: Option<&'static str>,
    tier: Option<Tier>,
    mode: Option<Mode>,
    key: Option<KeyId>,
    /// This moment or later.
    created_after: Option<Timestamp>,
    /// Before this moment.
    created_before: Option<Timestamp>,
    /// Members that the metadata must have, as text.
    pub metadata: Vec<(String, String)>,
}

impl Asked {
    /// From the query; 422 names every parameter that is wrong.
    pub fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let mut filter = Filter::default();
        let window =
            Window::filtered(request, NAMES, |name, value| filter.read(name, value).err())?;
        Ok(Self {
            limit: window.limit,
            after: window.after.map(|id| JobId(Uuid::from_bytes(id))),
            filter,
        })
    }
}

impl Filter {
    /// Reads one parameter, under its name in this list or in the operator's.
    pub fn read(&mut self, name: &str, value: &str) -> Result<(), FieldFault> {
        let fault = |message: String| FieldFault::new(name, message);
        let one_of = |words: &[&str]| fault(format!("must be one of {}", words.join(", ")));
        let moment = || {
            let example = "must be an RFC 3339 date and time, such as 2030-01-31T12:00:00Z (a + is written %2B)";
            Timestamp::parse(value).ok_or_else(|| fault(example.into()))
        };
        match name {
            "status" => {
                let known = STATUSES.into_iter().find(|it| *it == value);
                self.status = Some(known.ok_or_else(|| one_of(&STATUSES))?);
            }
            "tier" => {
                let words = Tier::ALL.iter().map(|it| it.word()).collect::<Vec<_>>();
                self.tier = Some(value.parse().map_err(|_| one_of(&words))?);
            }
            "mode" => {
                let words = Mode::ALL.iter().map(|it| it.word()).collect::<Vec<_>>();
                self.mode = Some(value.parse().map_err(|_| one_of(&words))?);
            }
            "key" | "key_id" => {
                let message = "must be the key_id of an API key";
                self.key = Some(value.parse().map_err(|_| fault(message.into()))?);
            }
            "created_after" | "from" => self.created_after = Some(moment()?),
            "created_before" => self.created_before = Some(moment()?),
            // The moment itself is meant as well.
            "to" => self.created_before = Some(moment()?.plus(Duration::from_millis(1))),
            _ if self.metadata.len() == MOST_MEMBERS => {
                return Err(fault(format!(
                    "is one too many; at most {MOST_MEMBERS} members of metadata can be asked for"
                )));
            }
            // The list knows no other name than `metadata[...]`.
            name => {
                let member = name.strip_prefix("metadata[").unwrap_or(name);
                let member = member.strip_suffix(']').unwrap_or(member);
                self.metadata.push((member.to_owned(), value.to_owned()));
            }
        }
        Ok(())
    }

    /// Does it let every job of its range through?
    pub fn is_open(&self) -> bool {
        let of_record = self.tier.is_none() && self.mode.is_none() && self.key.is_none();
        let of_time = self.created_after.is_none() && self.created_before.is_none();
        self.status.is_none() && of_record && of_time && self.metadata.is_empty()
    }

    /// Where such jobs lie.
    pub fn part(&self) -> Part {
        match self.status {
            Some("queued" | "processing") => Part::Live,
            Some(_) => Part::Ended,
            None => Part::All,
        }
    }

    /// The ids that such jobs can have: from the first on, below the second.
    pub fn range(&self) -> (Option<JobId>, Option<JobId>) {
        let (since, below) = self.moments();
        (since.map(JobId::first_of), below)
    }

    /// The same with the moment that the first of them would tell.
    pub fn moments(&self) -> (Option<Timestamp>, Option<JobId>) {
        let before = self.created_before.map(|moment| moment.plus(SET_BACK));
        (self.created_after, before.map(JobId::first_of))
    }

    /// Is this one of them, as far as its record tells?
    pub fn takes(&self, job: &Job) -> bool {
        let is = |wanted: Option<bool>| wanted.unwrap_or(true);
        is(self.status.map(|it| it == job.state.word()))
            && is(self.tier.map(|it| it == job.tier))
            && is(self.mode.map(|it| it == job.mode))
            && is(self.key.map(|it| it == job.key))
            && is(self.created_after.map(|it| job.created_at >= it))
            && is(self.created_before.map(|it| job.created_at < it))
    }

    /// Has the metadata of a job all members that are asked for? A string is compared as it is, a number or a word of JSON by
    /// its text; an array or an object equals nothing.
    pub fn takes_metadata(&self, text: &str) -> bool {
        let Ok(Json::Object(members)) = Json::parse(text, MAX_METADATA_DEPTH) else {
            return false;
        };
        self.metadata.iter().all(|(name, wanted)| {
            let member = members.iter().find(|(it, _)| it == name);
            member.is_some_and(|(_, value)| match value {
                Json::String(text) | Json::Number(text) => text == wanted,
                Json::Bool(value) => value.to_string() == *wanted,
                Json::Null => wanted == "null",
                Json::Array(_) | Json::Object(_) => false,
            })
        })
    }
}
