//! Deposits: money that is added to an account, or taken back.

use super::accounts;
use crate::api::fields::Fields;
use crate::api::transaction::EntryView;
use crate::application::audit_context::{Subject, to_audit_entry};
use crate::application::error;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{Deposit, IdempotencyUse};
use tokio::sync::oneshot;

/// Of the operator's words to a deposit.
pub const MAX_REFERENCE_CHARS: usize = 500;
/// The fields of a deposit.
pub const FIELDS: &[&str] = &["amount", "reference"];

/// `POST /accounts/{account_id}/deposits`
pub async fn create(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path)?;
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
    let name = accounts::read_once(&mut fields, &request);
    fields.finish(FIELDS).map_err(Problem::validation)?;
    let amount = amount.ok_or_else(|| Problem::field("amount", "is required"))?;
    let idempotency = name.map(|name| IdempotencyUse {
        name,
        fingerprint: accounts::fingerprint([
            &amount.to_string(),
            reference.as_deref().unwrap_or_default(),
        ]),
    });
    let actor = accounts::actor(&state, account.id)?;
    let (reply, answer) = oneshot::channel();
    let subject = Subject {
        account: Some(account.id),
        id: None,
    };
    let line = operator.author.line(&state, Action::DepositCreate, subject);
    // Only what is done now has its line written.
    let is_new = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_new);
    let note = move |entry: &LedgerEntry| {
        noted.store(true, Ordering::Relaxed);
        deposited(line, entry)
    };
    let command = AccountCommand::Deposit {
        note: Some(Box::new(note)),
        deposit: Deposit {
            amount,
            reference,
            idempotency,
        },
        reply,
    };
    let sent = actor.address.try_send(command);
    sent.map_err(|_| error::busy())?;
    let entry = answer.await.map_err(|_| error::busy())??;
    let mut answer = HttpResponse::Created();
    if !is_new.load(Ordering::Relaxed) {
        answer.insert_header(accounts::REPLAYED);
    }
    Ok(answer.json(EntryView::from(entry)))
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
    to_audit_entry(line, before, Some(after))
}
