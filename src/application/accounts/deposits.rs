//! Deposits money into accounts, corrects deposits, and refunds jobs.

use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{Subject, to_audit_entry};
use crate::application::error::{self, Error};
use crate::application::fingerprint;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::account::{AccountCommand, AccountHandle};
use tintype_api::NewDeposit;
use tintype_storage::domain::audit_log::{Action, AuditEntry, ToAuditEntry};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{Deposit, IdempotencyUse, Refund};

pub struct DepositOutcome {
    pub entry: LedgerEntry,
    /// An earlier call with this idempotency key made the deposit.
    pub is_replay: bool,
}

/// Deposits money once per idempotency key. A negative amount corrects an earlier deposit. With a job, refunds it.
pub async fn deposit(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    new: NewDeposit,
    idempotency_key: Option<String>,
) -> Result<DepositOutcome, Error> {
    let context = caller.require_operator()?;
    if new.amount.is_none() && new.job_id.is_none() {
        return Err(Error::field("amount", "is required without job_id"));
    }
    let idempotency = idempotency_key.map(|name| idempotency_use(name, &new));
    let entry = context.entry(core, Action::DepositCreate, Subject::of_account(account));
    // The actor calls `to_entry` only for a new deposit, not for a replay.
    let is_new = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_new);
    let to_entry = move |ledger_entry: &LedgerEntry| {
        noted.store(true, Ordering::Relaxed);
        with_facts(entry.clone(), ledger_entry)
    };
    let actor = core.account_actor(account, error::busy).await?;
    let entry = send(&actor, new, idempotency, Some(Box::new(to_entry))).await?;
    Ok(DepositOutcome {
        entry,
        is_replay: !is_new.load(Ordering::Relaxed),
    })
}

fn idempotency_use(name: String, new: &NewDeposit) -> IdempotencyUse {
    let amount = new.amount.map(|it| it.to_string()).unwrap_or_default();
    let asked = match new.job_id {
        Some(job) => format!("refund of {job}: {amount}"),
        None => amount,
    };
    let reference = new.reference.as_deref().unwrap_or_default();
    IdempotencyUse {
        name,
        fingerprint: fingerprint::of_operator([&asked, reference]),
    }
}

/// Has the actor make the deposit, or the refund of a job.
async fn send(
    actor: &AccountHandle,
    new: NewDeposit,
    idempotency: Option<IdempotencyUse>,
    to_entry: Option<ToAuditEntry<LedgerEntry>>,
) -> Result<LedgerEntry, Error> {
    let NewDeposit {
        amount,
        reference,
        job_id,
    } = new;
    let Some(job) = job_id else {
        let deposit = Deposit {
            amount: amount.unwrap_or_default(),
            reference,
            idempotency,
        };
        let deposited = actor.call(|reply| AccountCommand::Deposit {
            deposit,
            to_entry,
            reply,
        });
        return Ok(deposited.await??);
    };
    let refund = Refund {
        job,
        amount,
        reference,
        idempotency,
    };
    let refunded = actor.call(|reply| AccountCommand::Refund {
        refund,
        to_entry,
        reply,
    });
    Ok(refunded.await??)
}

fn with_facts(entry: AuditEntry, ledger_entry: &LedgerEntry) -> AuditEntry {
    let entry = AuditEntry {
        subject: Some(ledger_entry.id.0),
        ..entry
    };
    let before = ledger_entry.balance_after.minus(ledger_entry.amount).ok();
    let before = before.map(|it| json!({"balance": it.to_string()}));
    let mut after = json!({
        "balance": ledger_entry.balance_after.to_string(),
        "kind": ledger_entry.kind.as_str(),
        "amount": ledger_entry.amount.to_string(),
        "reference": ledger_entry.reference,
    });
    if let Some(job) = ledger_entry.job {
        after["job_id"] = json!(job);
    }
    to_audit_entry(entry, before, Some(after))
}
