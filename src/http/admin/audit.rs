//! The audit log, read.

use crate::http::auth::Operator;
use crate::http::openapi::kinds;
use crate::http::paging::{Listing, Window};
use crate::http::problem::{FieldFault, Problem};
use crate::http::sifted::sifted;
use crate::http::state::AppState;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Page;

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
    /// An action, or what stands before its dot, for all of that kind.
    action: Option<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Filter {
    const NAMES: &'static [&'static str] = &["account_id", "action", "from", "to"];

    fn take(&mut self, name: &str, value: &str) -> Option<FieldFault> {
        match name {
            "account_id" => {
                self.account = value.parse().ok();
                let fault = FieldFault::new(name, "must be an id");
                self.account.is_none().then_some(fault)
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
    let page = page(&request, &state)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, EntryView::from)))
}

/// The lines that a query asks for.
pub fn page(request: &HttpRequest, state: &AppState) -> Result<Page<AuditEntry>, Problem> {
    let mut filter = Filter::default();
    let window = Window::filtered(request, Filter::NAMES, |name, value| {
        filter.take(name, value)
    })?;
    sifted(
        &window,
        |limit, after| state.store.audit_log(limit, after),
        |entry| entry.id.0.into_bytes(),
        |entry| filter.lets(entry),
    )
}
