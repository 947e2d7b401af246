//! Checks deliveries against their jobs, the due index and their attempts, in both directions.
//!
//! A job with a callback certainly needs a delivery. For other jobs that depends on the account's webhooks at their end, which
//! no record keeps.

use super::Report;
use super::batches::verify_batch_delivery;
use crate::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryKind, SentRequest};
use crate::domain::ids::{AccountId, BatchId, JobId, SERVICE};
use crate::domain::job::{Job, JobState, Origin};
use crate::engine::Wait as _;
use crate::store::tables::{
    ATTEMPTS, DELIVERIES, DELIVERIES_FORGOTTEN, DELIVERY_ACCOUNTS, DUE_DELIVERIES, ENDED_JOBS,
    OPERATOR_EVENTS,
};
use crate::store::{DueEntry, Store, StoreError};
use std::collections::HashSet;

/// `accounts` are the existing ones.
pub(super) fn verify(
    store: &Store,
    accounts: &HashSet<AccountId>,
    report: &mut Report,
) -> Result<(), StoreError> {
    DELIVERIES.visit(store, |_, delivery| {
        report.deliveries += 1;
        verify_delivery(store, accounts, &delivery, report)
    })?;
    DELIVERY_ACCOUNTS.visit(store, |id, account| {
        if DELIVERIES.get(store, &(account, id)).wait()?.is_none() {
            report.fault(format!(
                "delivery {id} is listed for account {account}, which has none of that id"
            ));
        }
        Ok(())
    })?;
    verify_due_index(store, report)?;
    verify_callback_deliveries(store, report)?;
    OPERATOR_EVENTS.visit(store, |id, event| {
        let delivery = DELIVERIES.get(store, &(SERVICE, id)).wait()?;
        if delivery.is_none_or(|it| it.kind != DeliveryKind::Operator) {
            report.fault(format!(
                "no delivery reports the operator event {id} ({})",
                event.subject.as_str()
            ));
        }
        Ok(())
    })?;
    ATTEMPTS.visit(store, |(id, number), _| {
        let delivery = store.delivery(id).wait()?;
        if delivery.is_none_or(|it| it.attempts <= number) {
            report.fault(format!(
                "there is an attempt {number} of delivery {id}, which has had none of that number"
            ));
        }
        Ok(())
    })
}

fn verify_delivery(
    store: &Store,
    accounts: &HashSet<AccountId>,
    delivery: &Delivery,
    report: &mut Report,
) -> Result<(), StoreError> {
    if !accounts.contains(&delivery.account) && delivery.kind != DeliveryKind::Operator {
        report.fault(format!(
            "delivery {} is of account {}, which does not exist",
            delivery.id, delivery.account
        ));
    }
    if DELIVERY_ACCOUNTS.get(store, &delivery.id).wait()? != Some(delivery.account) {
        report.fault(format!(
            "delivery {} of account {} is not found by its id",
            delivery.id, delivery.account
        ));
    }
    let attempts = store.attempts(delivery.id).wait()?;
    verify_subject(store, delivery, &attempts, report)?;
    verify_due_entry(store, delivery, report)?;
    if usize::try_from(delivery.attempts) != Ok(attempts.len()) {
        report.fault(format!(
            "delivery {} has had {} attempts, {} are on record",
            delivery.id,
            delivery.attempts,
            attempts.len()
        ));
    }
    Ok(())
}

/// An ended job with a callback needs a delivery, if deliveries of its time are still kept. A job in the background names none.
fn verify_callback_deliveries(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let kept_since = DELIVERIES_FORGOTTEN.mark(store).wait()?;
    ENDED_JOBS.visit(store, |_, job| {
        if job.callback.is_some() && job.origin == Origin::Background {
            report.fault(format!(
                "job {} names a callback, but its caller looks it up",
                job.id
            ));
        }
        let owes = job.origin == Origin::Native && job.callback.is_some();
        let ended = job.state.finished_at();
        if owes
            && ended.is_some_and(|at| at >= kept_since)
            && DELIVERIES
                .get(store, &(job.account, DeliveryId(job.id.0)))
                .wait()?
                .is_none()
        {
            report.fault(format!(
                "job {} has ended and named a callback, and no delivery reports it",
                job.id
            ));
        }
        Ok(())
    })
}

/// Checks a delivery's subject. An operator event must have its record. Otherwise the subject is an ended job of the account,
/// submitted through an interface that calls webhooks.
fn verify_subject(
    store: &Store,
    delivery: &Delivery,
    attempts: &[Attempt],
    report: &mut Report,
) -> Result<(), StoreError> {
    let job = match delivery.kind {
        DeliveryKind::Event => JobId(delivery.subject),
        DeliveryKind::Test => return Ok(()),
        DeliveryKind::Batch => {
            return verify_batch_delivery(store, delivery, BatchId(delivery.subject), report);
        }
        DeliveryKind::Operator => return verify_operator_event(store, delivery, report),
    };
    let (id, account) = (delivery.id, delivery.account);
    if id.0 != job.0 {
        report.fault(format!(
            "delivery {id} is of job {job}, whose delivery has the job's own id"
        ));
    }
    match store.job(account, job).wait()? {
        None => report.fault(format!(
            "delivery {id} is of job {job}, which account {account} does not have"
        )),
        Some(found) if !found.state.is_terminal() => report.fault(format!(
            "delivery {id} is of job {job}, which is {}",
            found.state.as_str()
        )),
        Some(found) => match found.origin {
            Origin::Native => verify_erasure(delivery, attempts, &found, report),
            Origin::Synchronous => report.fault(format!(
                "delivery {id} is of job {job}, whose caller waited for it"
            )),
            Origin::Batch(_) => report.fault(format!(
                "delivery {id} is of job {job}, whose batch has the delivery"
            )),
            Origin::Background => report.fault(format!(
                "delivery {id} is of job {job}, whose caller looks it up"
            )),
        },
    }
    Ok(())
}

/// The attempts of an erased job have no text of its caller.
fn verify_erasure(delivery: &Delivery, attempts: &[Attempt], job: &Job, report: &mut Report) {
    let mut sent = attempts.iter().filter_map(|it| it.sent.as_ref());
    if job.is_erased() && sent.any(|it| has_texts(it, job)) {
        report.fault(format!(
            "delivery {} keeps a request with texts of the erased job {}; erase the job again",
            delivery.id, job.id
        ));
    }
}

/// An attempt after the erasure has sent the erased job, whose payload is short. A truncated one is older.
fn has_texts(sent: &SentRequest, job: &Job) -> bool {
    let error = match &job.state {
        JobState::Failed { error, .. } => Some(error.as_str()),
        JobState::Queued | JobState::Processing { .. } | JobState::Done { .. } => None,
    };
    let payload = serde_json::from_str::<serde_json::Value>(&sent.body);
    payload.map_or(true, |it| {
        !it["metadata"].is_null() || it["error"].as_str() != error
    })
}

fn verify_operator_event(
    store: &Store,
    delivery: &Delivery,
    report: &mut Report,
) -> Result<(), StoreError> {
    let id = delivery.id;
    if delivery.account != SERVICE {
        report.fault(format!(
            "delivery {id} reports an operator event, and is of account {}",
            delivery.account
        ));
    }
    if OPERATOR_EVENTS.get(store, &id).wait()?.is_none() {
        report.fault(format!(
            "delivery {id} reports an operator event that is not on record"
        ));
    }
    Ok(())
}

/// Does the due index have a pending delivery?
fn verify_due_entry(
    store: &Store,
    delivery: &Delivery,
    report: &mut Report,
) -> Result<(), StoreError> {
    let Some(wanted) = DueEntry::of(delivery) else {
        return Ok(());
    };
    if DUE_DELIVERIES.get(store, &wanted.key()).wait()? != Some(wanted) {
        report.fault(format!(
            "delivery {} is due at {}, the due index lacks it",
            wanted.id, wanted.due
        ));
    }
    Ok(())
}

/// Does each entry refer to a pending delivery?
fn verify_due_index(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    DUE_DELIVERIES.visit(store, |key, _| {
        let (_, (due, id)) = key;
        let delivery = store.delivery(id).wait()?;
        let wanted = delivery.as_ref().and_then(DueEntry::of);
        if wanted.is_none_or(|it| it.key() != key) {
            report.fault(format!(
                "the due index has delivery {id} at {due}, its record does not"
            ));
        }
        Ok(())
    })
}
