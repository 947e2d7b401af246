//! The audit log, read.

use crate::api::kinds;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::filtered_page::sifted;
use crate::web::paging::{self, Listing};
use crate::web::problem::{FieldFault, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::{AccountId, first_id_of, moment_of};
use tintype_storage::domain::person::PersonId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Page;
use uuid::Uuid;

/// Ids sort by the moment of the change, but where the clock was set back meanwhile. It may have been by this much.
const SET_BACK: Duration = Duration::from_secs(3_600);

/// A line of the log on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Change", deny_unknown_fields)]
pub struct EntryView {
    /// The line's id.
    #[schemars(with = "kinds::Id")]
    audit_id: String,
    /// When.
    #[schemars(with = "kinds::Moment")]
    at: String,
    /// Who: whoever held the token, the service itself, or a person who had signed in.
    #[schemars(with = "kinds::ActorWord")]
    actor: &'static str,
    /// Only of a person.
    #[schemars(with = "Option<kinds::Id>")]
    person_id: Option<String>,
    /// What.
    #[schemars(with = "kinds::ActionWord")]
    action: &'static str,
    /// Whose affairs; `null` for what concerns all.
    #[schemars(with = "Option<kinds::Id>")]
    account_id: Option<String>,
    /// The thing itself.
    #[schemars(with = "Option<kinds::Id>")]
    subject_id: Option<String>,
    /// How it was; `null` for what is new.
    #[schemars(with = "Option<kinds::Metadata>")]
    before: Option<Box<RawValue>>,
    /// How it is; `null` for what is gone.
    #[schemars(with = "Option<kinds::Metadata>")]
    after: Option<Box<RawValue>>,
    /// The call's `X-Request-Id`.
    request_id: Option<String>,
    /// Where the call came from.
    address: Option<String>,
}

impl From<AuditEntry> for EntryView {
    fn from(entry: AuditEntry) -> Self {
        // What was stored is JSON; a line that is not is told without it rather than not at all.
        let facts = |text: Option<String>| text.and_then(|it| RawValue::from_string(it).ok());
        Self {
            audit_id: entry.id.to_string(),
            at: entry.at.to_string(),
            actor: entry.actor.word(),
            person_id: entry.actor.person().map(|it| it.hyphenated().to_string()),
            action: entry.action.word(),
            account_id: entry.account.map(|it| it.to_string()),
            subject_id: entry.subject.map(|it| it.hyphenated().to_string()),
            before: facts(entry.before),
            after: facts(entry.after),
            request_id: entry.request,
            address: entry.address,
        }
    }
}

/// Which lines a list is to hold.
#[derive(Default)]
struct Filter {
    account: Option<AccountId>,
    person: Option<Uuid>,
    /// An action, or what stands before its dot, for all of that kind.
    action: Option<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Filter {
    const NAMES: &'static [&'static str] = &["account_id", "person_id", "action", "from", "to"];

    fn take(&mut self, name: &str, value: &str) -> Option<FieldFault> {
        match name {
            "account_id" => {
                self.account = value.parse().ok();
                let fault = FieldFault::new(name, "must be an id");
                self.account.is_none().then_some(fault)
            }
            "person_id" => {
                let id: Option<PersonId> = value.parse().ok();
                self.person = id.map(|id| id.0);
                let fault = FieldFault::new(name, "must be an id");
                self.person.is_none().then_some(fault)
            }
            "action" => {
                let known = Action::ALL.iter().any(|it| matches(it.word(), value));
                self.action = Some(value.to_owned());
                (!known).then(|| FieldFault::new(name, unknown_action()))
            }
            _ => {
                let moment = Timestamp::parse(value);
                match name {
                    "from" => self.from = moment,
                    _ => self.to = moment,
                }
                let message = "must be an RFC 3339 date and time, such as 2030-01-31T12:00:00Z";
                moment.is_none().then(|| FieldFault::new(name, message))
            }
        }
    }

    fn lets(&self, entry: &AuditEntry) -> bool {
        let action = self.action.as_deref();
        self.account.is_none_or(|it| entry.account == Some(it))
            && self
                .person
                .is_none_or(|it| entry.actor.person() == Some(it))
            && action.is_none_or(|it| matches(entry.action.word(), it))
            && self.from.is_none_or(|from| from <= entry.at)
            && self.to.is_none_or(|to| entry.at <= to)
    }
}

/// `key.change` is meant by itself and by `key`.
fn matches(word: &str, wanted: &str) -> bool {
    word == wanted || word.split('.').next() == Some(wanted)
}

fn unknown_action() -> String {
    let words: Vec<&str> = Action::ALL.iter().map(|it| it.word()).collect();
    format!(
        "must be one of {}; or only what stands before the dot",
        words.join(", ")
    )
}

/// `GET /audit`: newest first.
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let page = page(&request, &state).await?;
    Ok(HttpResponse::Ok().json(Listing::new(page, EntryView::from)))
}

/// The lines that a query asks for.
pub async fn page(
    request: &HttpRequest,
    state: &web::Data<AppState>,
) -> Result<Page<AuditEntry>, Problem> {
    let mut filter = Filter::default();
    let window = paging::filtered_window(request, Filter::NAMES, |name, value| {
        filter.take(name, value)
    })?;
    let store = state.store.clone();
    // Ids only ever rise, and tell a moment that may be later than the line's, but never earlier.
    let end = filter
        .to
        .map(|to| first_id_of(to.plus(SET_BACK)).into_bytes());
    let from = filter.from;
    let read = move |limit, after: Option<[u8; 16]>| {
        let below = match (after, end) {
            (Some(after), Some(end)) => Some(after.min(end)),
            (after, end) => after.or(end),
        };
        let mut page = store.audit_log(limit, below)?;
        let last = page.items.last().and_then(|it| moment_of(&it.id.0));
        if last.is_some_and(|at| from.is_some_and(|from| at < from)) {
            page.next = None;
        }
        Ok(page)
    };
    sifted(
        window,
        read,
        |entry| entry.id.0.into_bytes(),
        move |entry| filter.lets(entry),
    )
    .await
}
