//! Accounts: opened, listed, changed; and their ledgers.

use super::ledger;
use crate::api::fields::Fields;
use crate::api::kinds;
use crate::api::transaction::EntryView;
use crate::application::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::commit::{Change, Turn, detached};
use crate::application::error;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::idempotency_key;
use crate::web::paging::{Listing, Window};
use crate::web::problem::{Code, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountCommand;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, TransactionId};
use tintype_storage::domain::ledger::{Books, EntryKind, LedgerEntry};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::store::{
    AccountChanged, IdempotencyRecord, IdempotencyUse, IdempotentCall, SERVICE,
};
use tokio::sync::oneshot;

/// Of a name for people.
pub const MAX_NAME_CHARS: usize = 200;
/// The fields of a new account.
pub const OPENING: &[&str] = &["name", "balance"];
/// What can be changed of one.
pub const CHANGE: &[&str] = &["name", "active"];

/// An account on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Account", deny_unknown_fields)]
pub struct AccountView {
    /// The account's id.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// A name for people.
    name: String,
    /// What has been paid in and not been charged.
    #[schemars(with = "kinds::Money")]
    balance: String,
    /// What is held for jobs that are not over.
    #[schemars(with = "kinds::Money")]
    reserved: String,
    /// What can be spent now.
    #[schemars(with = "kinds::Money")]
    available: String,
    /// When it was opened.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
    /// Only of an account that is switched off: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "kinds::Off")]
    active: Option<bool>,
}

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        Self {
            account_id: account.id.to_string(),
            balance: account.books.balance.to_string(),
            reserved: account.books.reserved.to_string(),
            available: account.books.available().to_string(),
            created_at: account.created_at.to_string(),
            active: (!account.active).then_some(false),
            name: account.name,
        }
    }
}

/// The account of a path; an unknown one and no id at all are both 404.
pub fn find(state: &AppState, id: &str) -> Result<Account, Problem> {
    let missing = || Problem::new(Code::NotFound, "there is no such account");
    let id: AccountId = id.parse().map_err(|_| missing())?;
    state.store.account(id)?.ok_or_else(missing)
}

/// A name for people: trimmed by nobody, but neither empty nor endless.
pub fn read_name(fields: &mut Fields<'_>, name: Option<String>) -> Option<String> {
    let name = name?;
    let chars = name.chars().count();
    if (1..=MAX_NAME_CHARS).contains(&chars) && !name.chars().any(char::is_control) {
        return Some(name);
    }
    fields.fault(
        "name",
        format!("must be 1 to {MAX_NAME_CHARS} characters without control characters"),
    );
    None
}

/// `POST /accounts`
pub async fn open(
    operator: Operator,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let name = fields.required_string("name");
    let name = read_name(&mut fields, name);
    let balance = fields.optional_amount("balance").unwrap_or_default();
    let books = Books::default().deposit(balance);
    let books = fields.checked("balance", books);
    let once = read_once(&mut fields, &request);
    fields.finish(OPENING).map_err(Problem::validation)?;
    let (Some(name), Some(books)) = (name, books) else {
        return Err(Problem::field("body", "is incomplete"));
    };
    let used = once.map(|once| IdempotencyUse {
        fingerprint: fingerprint([&name, &balance.to_string()]),
        name: once,
    });
    let turn = state.operator.take().await;
    if let Some(account) = opened_before(&state, used.as_ref())? {
        let mut answer = HttpResponse::Created();
        answer.insert_header(REPLAYED);
        return Ok(answer.json(AccountView::from(account)));
    }
    let opening = Opening { name, books, used };
    let account = create(&state, turn, &operator.author, opening).await?;
    Ok(HttpResponse::Created().json(AccountView::from(account)))
}

/// Says that nothing was done anew: the answer is that of the first call with this idempotency key.
pub(super) const REPLAYED: (&str, &str) = ("Idempotent-Replayed", "true");

/// The idempotency key of a call.
pub(super) fn read_once(fields: &mut Fields<'_>, request: &HttpRequest) -> Option<String> {
    idempotency_key::key(request.headers()).unwrap_or_else(|fault| {
        fields.fault(fault.field, fault.message);
        None
    })
}

/// The account that the first use of the key has opened, as it is now.
fn opened_before(
    state: &AppState,
    used: Option<&IdempotencyUse>,
) -> Result<Option<Account>, Problem> {
    let Some(used) = used else { return Ok(None) };
    let (call, now) = (IdempotentCall::Opening, state.now());
    let first = state.store.idempotency(call, SERVICE, &used.name, now)?;
    match first {
        Some(first) if first.fingerprint != used.fingerprint => {
            let detail = "the Idempotency-Key was used before for another account";
            Err(error::key_reused(detail).into())
        }
        Some(first) => Ok(state.store.account(AccountId(first.made))?),
        None => Ok(None),
    }
}

/// An account to be opened.
pub struct Opening {
    /// A name for people.
    pub name: String,
    /// What it begins with.
    pub books: Books,
    /// The operator's name for the call.
    pub used: Option<IdempotencyUse>,
}

/// Opens an account with its first ledger line, where it begins with money.
pub async fn create(
    state: &AppState,
    turn: Turn,
    author: &AuditContext,
    opening: Opening,
) -> Result<Account, Problem> {
    let now = state.now();
    let ids = &state.system.accounts().context().ids;
    let balance = opening.books.balance;
    let account = Account {
        id: AccountId(ids.next(now)),
        name: opening.name,
        books: opening.books,
        created_at: now,
        active: true,
    };
    let entry = (!balance.is_zero()).then(|| LedgerEntry {
        id: TransactionId(ids.next(now)),
        kind: EntryKind::Deposit,
        amount: balance,
        balance_after: balance,
        job: None,
        reference: Some("opening balance".into()),
        created_at: now,
    });
    let mut writes = state.store.open_account(&account, entry.as_ref());
    if let Some(used) = opening.used {
        let hours = state.config.idempotency.retention_hours;
        let record = IdempotencyRecord {
            made: account.id.0,
            fingerprint: used.fingerprint,
            expires_at: now.plus(Duration::from_secs(hours * 3_600)),
        };
        let call = IdempotentCall::Opening;
        writes.extend(state.store.remember_use(call, SERVICE, &used.name, &record));
    }
    let subject = Subject {
        account: Some(account.id),
        id: Some(account.id.0),
    };
    let line = author.line(state, Action::AccountCreate, subject);
    let facts = json!({"name": account.name, "balance": balance.to_string()});
    writes.push(
        state
            .store
            .add_audit(&to_audit_entry(line, None, Some(facts))),
    );
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(account)
}

/// `GET /accounts`
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = Window::of(&request)?;
    let page = state.store.accounts(window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, AccountView::from)))
}

/// `GET /accounts/{account_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(AccountView::from(find(&state, &path)?)))
}

/// What an idempotency key of the operator's is bound to.
pub(super) fn fingerprint(parts: [&str; 2]) -> Fingerprint {
    let [first, second] = parts;
    let digest = Sha256::new()
        .chain_update(first)
        .chain_update([0])
        .chain_update(second);
    Fingerprint(digest.finalize().into())
}

/// `PATCH /accounts/{account_id}`: another name, or switched off or on.
pub async fn change(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let name = fields.optional_string("name");
    let change = AccountChange {
        name: read_name(&mut fields, name),
        active: fields.optional_bool("active"),
    };
    fields.finish(CHANGE).map_err(Problem::validation)?;
    let actor = actor(&state, account.id)?;
    let subject = Subject {
        account: Some(account.id),
        id: Some(account.id.0),
    };
    let line = operator.author.line(&state, Action::AccountChange, subject);
    let note = |changed: &AccountChanged| {
        let (before, after) = (facts(&changed.before), facts(&changed.after));
        to_audit_entry(line, Some(before), Some(after))
    };
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::Change {
        change,
        note: Some(Box::new(note)),
        reply,
    };
    let ring = Arc::clone(&state.key_ring);
    // Apart, so that the keys of an account that is switched off are refused also when whoever did it has left.
    let changed = detached(async move {
        let sent = actor.address.try_send(command);
        sent.map_err(|_| error::busy())?;
        let account = answer.await.map_err(|_| error::busy())??;
        ring.forget_account(account.id);
        Ok::<_, Problem>(account)
    });
    Ok(HttpResponse::Ok().json(AccountView::from(changed.await?)))
}

/// Who decides for an account.
pub(super) fn actor(state: &AppState, account: AccountId) -> Result<AccountHandle, Problem> {
    let actor = state.system.accounts().get(account)?;
    Ok(actor.ok_or_else(error::busy)?)
}

/// What the audit log says of an account that is changed.
fn facts(account: &Account) -> Value {
    json!({"name": account.name, "active": account.active})
}

/// `GET /accounts/{account_id}/transactions`
pub async fn transactions(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let page = ledger::page(&request, &state, account.id).await?;
    Ok(HttpResponse::Ok().json(Listing::new(page, EntryView::from)))
}
