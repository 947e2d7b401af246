//! The audit log, read.

use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::filtered_page::sifted;
use crate::web::paging::{self, listing};
use crate::web::problem::{FieldFault, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use std::time::Duration;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::{AccountId, first_id_of, moment_of};
use tintype_storage::domain::person::PersonId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Page;
use uuid::Uuid;

/// Ids sort by the moment of the change, but where the clock was set back meanwhile. It may have been by this much.
const SET_BACK: Duration = Duration::from_secs(3_600);

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
    Ok(HttpResponse::Ok().json(listing(page, tintype_api::AuditEntry::from)))
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
