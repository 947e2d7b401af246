//! Deposits money into accounts, and corrects deposits.

use crate::application::accounts::fingerprint;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{Subject, to_audit_entry};
use crate::application::error::{self, Error};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::account::AccountCommand;
use tintype_api::NewDeposit;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{Deposit, IdempotencyUse};

pub struct DepositOutcome {
    pub entry: LedgerEntry,
    /// An earlier call with this idempotency key made the deposit.
    pub is_replay: bool,
}

/// Deposits money once per idempotency key. A negative amount corrects an earlier deposit.
pub async fn deposit(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    new: NewDeposit,
    idempotency_key: Option<String>,
) -> Result<DepositOutcome, Error> {
    let context = caller.operate()?;
    let NewDeposit { amount, reference } = new;
    let idempotency = idempotency_key.map(|name| {
        let text = reference.as_deref().unwrap_or_default();
        IdempotencyUse {
            name,
            fingerprint: fingerprint([&amount.to_string(), text]),
        }
    });
    let actor = core.account_actor(account, error::busy).await?;
    let subject = Subject::of_account(account);
    let entry = context.entry(core, Action::DepositCreate, subject);
    // The actor calls `to_entry` only for a new deposit, not for a replay.
    let is_new = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_new);
    let to_entry = move |ledger_entry: &LedgerEntry| {
        noted.store(true, Ordering::Relaxed);
        with_facts(entry.clone(), ledger_entry)
    };
    let deposited = actor.call(|reply| AccountCommand::Deposit {
        to_entry: Some(Box::new(to_entry)),
        deposit: Deposit {
            amount,
            reference,
            idempotency,
        },
        reply,
    });
    Ok(DepositOutcome {
        entry: deposited.await??,
        is_replay: !is_new.load(Ordering::Relaxed),
    })
}

fn with_facts(entry: AuditEntry, ledger_entry: &LedgerEntry) -> AuditEntry {
    let entry = AuditEntry {
        subject: Some(ledger_entry.id.0),
        ..entry
    };
    let before = ledger_entry.balance_after.minus(ledger_entry.amount).ok();
    let before = before.map(|it| json!({"balance": it.to_string()}));
    let after = json!({
        "balance": ledger_entry.balance_after.to_string(),
        "kind": ledger_entry.kind.as_str(),
        "amount": ledger_entry.amount.to_string(),
        "reference": ledger_entry.reference,
    });
    to_audit_entry(entry, before, Some(after))
}
