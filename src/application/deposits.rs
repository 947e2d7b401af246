//! Deposits: money that is added to an account, or taken back.

use super::accounts;
use super::audit_context::{Subject, to_audit_entry};
use super::caller::Caller;
use super::error::{self, Error};
use super::state::AppState;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::account::AccountCommand;
use tintype_api::NewDeposit;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{Deposit, IdempotencyUse};
use tokio::sync::oneshot;

/// The ledger line that a call has made.
pub struct Deposited {
    pub entry: LedgerEntry,
    /// Nothing was done anew: an earlier call with this idempotency key has made it.
    pub is_replay: bool,
}

/// Deposits money, once for each idempotency key. A negative amount corrects an earlier deposit.
pub async fn deposit(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    new: NewDeposit,
    idempotency_key: Option<String>,
) -> Result<Deposited, Error> {
    let context = caller.operate()?;
    let NewDeposit { amount, reference } = new;
    let idempotency = idempotency_key.map(|name| {
        let words = reference.as_deref().unwrap_or_default();
        IdempotencyUse {
            name,
            fingerprint: accounts::fingerprint([&amount.to_string(), words]),
        }
    });
    let actor = accounts::actor(state, account)?;
    let subject = Subject {
        account: Some(account),
        id: None,
    };
    let entry = context.line(state, Action::DepositCreate, subject);
    // Only what is done now has its line written.
    let is_new = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_new);
    let note = move |made: &LedgerEntry| {
        noted.store(true, Ordering::Relaxed);
        with_facts(entry.clone(), made)
    };
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::Deposit {
        note: Some(Box::new(note)),
        deposit: Deposit {
            amount,
            reference,
            idempotency,
        },
        reply: reply.into(),
    };
    actor.send(command).map_err(|_| error::busy())?;
    let entry = answer.await.map_err(|_| error::busy())??;
    Ok(Deposited {
        entry,
        is_replay: !is_new.load(Ordering::Relaxed),
    })
}

/// The balance before and after, and the ledger's new line.
fn with_facts(entry: AuditEntry, made: &LedgerEntry) -> AuditEntry {
    let entry = AuditEntry {
        subject: Some(made.id.0),
        ..entry
    };
    let before = made.balance_after.minus(made.amount).ok();
    let before = before.map(|it| json!({"balance": it.to_string()}));
    let after = json!({
        "balance": made.balance_after.to_string(),
        "kind": made.kind.word(),
        "amount": made.amount.to_string(),
        "reference": made.reference,
    });
    to_audit_entry(entry, before, Some(after))
}
