//! Accounts, deposits and ledgers.

use super::ledger;
use crate::http::auth::Operator;
use crate::http::author::{Author, Subject, told};
use crate::http::body;
use crate::http::failures;
use crate::http::idempotency;
use crate::http::openapi::kinds;
use crate::http::paging::{Listing, Window};
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;
use crate::http::wire::fields::Fields;
use crate::http::wire::ledger::EntryView;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use tintype_actors::account::DepositMoney;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::{AccountId, TransactionId};
use tintype_storage::domain::ledger::{Books, EntryKind, LedgerEntry};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::store::{Deposit, IdempotencyUse};
use tokio::sync::oneshot;

/// Of a name for people.
pub const MAX_NAME_CHARS: usize = 200;
/// Of the operator's words to a deposit.
pub const MAX_REFERENCE_CHARS: usize = 500;
/// The fields of a new account.
pub const OPENING: &[&str] = &["name", "balance"];
/// The fields of a deposit.
pub const DEPOSIT: &[&str] = &["amount", "reference"];

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
}

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        Self {
            account_id: account.id.to_string(),
            balance: account.books.balance.to_string(),
            reserved: account.books.reserved.to_string(),
            available: account.books.available().to_string(),
            created_at: account.created_at.to_string(),
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
    fields.finish(OPENING).map_err(Problem::validation)?;
    let (Some(name), Some(books)) = (name, books) else {
        return Err(Problem::field("body", "is incomplete"));
    };
    let account = create(&state, &operator.author, name, books, balance).await?;
    Ok(HttpResponse::Created().json(AccountView::from(account)))
}

/// Opens an account with its first ledger line, where it begins with money.
pub async fn create(
    state: &AppState,
    author: &Author,
    name: String,
    books: Books,
    balance: Amount,
) -> Result<Account, Problem> {
    let now = state.now();
    let ids = &state.system.accounts().context().ids;
    let account = Account {
        id: AccountId(ids.next(now)),
        name,
        books,
        created_at: now,
    };
    let opening = (!balance.is_zero()).then(|| LedgerEntry {
        id: TransactionId(ids.next(now)),
        kind: EntryKind::Deposit,
        amount: balance,
        balance_after: balance,
        job: None,
        reference: Some("opening balance".into()),
        created_at: now,
    });
    let mut writes = state.store.open_account(&account, opening.as_ref());
    let subject = Subject {
        account: Some(account.id),
        id: Some(account.id.0),
    };
    let line = author.line(state, Action::AccountCreate, subject);
    let facts = json!({"name": account.name, "balance": balance.to_string()});
    writes.push(state.store.add_audit(&told(line, None, Some(facts))));
    state.commit(writes).await?;
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

/// `POST /accounts/{account_id}/deposits`
pub async fn deposit(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let amount = fields.required_string("amount");
    let amount = amount.and_then(|text| fields.checked("amount", text.parse::<Amount>()));
    if amount.is_some_and(Amount::is_zero) {
        fields.fault("amount", "must not be zero");
    }
    let reference = fields.optional_string("reference");
    if reference
        .as_ref()
        .is_some_and(|text| text.chars().count() > MAX_REFERENCE_CHARS)
    {
        fields.fault(
            "reference",
            format!("must have at most {MAX_REFERENCE_CHARS} characters"),
        );
    }
    let name = idempotency::key(request.headers()).unwrap_or_else(|fault| {
        fields.fault(fault.field, fault.message);
        None
    });
    fields.finish(DEPOSIT).map_err(Problem::validation)?;
    let amount = amount.ok_or_else(|| Problem::field("amount", "is required"))?;
    let idempotency = name.map(|name| IdempotencyUse {
        name,
        fingerprint: fingerprint(amount, reference.as_deref()),
    });
    let handle = state
        .system
        .accounts()
        .get(account.id)?
        .ok_or_else(failures::busy)?;
    let (reply, answer) = oneshot::channel();
    let subject = Subject {
        account: Some(account.id),
        id: None,
    };
    let line = operator.author.line(&state, Action::DepositCreate, subject);
    let command = DepositMoney {
        note: Some(Box::new(move |entry| deposited(line, entry))),
        deposit: Deposit {
            amount,
            reference,
            idempotency,
        },
        reply,
    };
    handle
        .address
        .try_send(command)
        .map_err(|_| failures::busy())?;
    let entry = answer.await.map_err(|_| failures::busy())??;
    Ok(HttpResponse::Created().json(EntryView::from(entry)))
}

/// What the audit log says of a deposit: the balance before and after, and the ledger's new line.
fn deposited(line: AuditEntry, entry: &LedgerEntry) -> AuditEntry {
    let line = AuditEntry {
        subject: Some(entry.id.0),
        ..line
    };
    let before = entry.balance_after.minus(entry.amount).ok();
    let before = before.map(|it| json!({"balance": it.to_string()}));
    let after = json!({
        "balance": entry.balance_after.to_string(),
        "kind": entry.kind.word(),
        "amount": entry.amount.to_string(),
        "reference": entry.reference,
    });
    told(line, before, Some(after))
}

fn fingerprint(amount: Amount, reference: Option<&str>) -> Fingerprint {
    let digest = Sha256::new()
        .chain_update(amount.to_string())
        .chain_update([0])
        .chain_update(reference.unwrap_or_default());
    Fingerprint(digest.finalize().into())
}

/// `GET /accounts/{account_id}/transactions`
pub async fn transactions(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let page = ledger::page(&request, &state, account.id)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, EntryView::from)))
}
