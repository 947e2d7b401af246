//! Refunds of jobs: at most their charges, in the ledger and in verification.

use crate::old_jobs::{forget, on_day};
use crate::support::*;
use tintype_storage::domain::amount::AmountError;
use tintype_storage::domain::ids::{JobId, TransactionId};
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry, LedgerError};
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::tables::{ACCOUNT_REFUNDS, JOB_REFUNDS, LEDGER};
use tintype_storage::store::{IdempotencyUse, Refund, RefundError, Write};

/// `amount` may be empty: all that is left.
fn refund_of(job: JobId, amount: &str, idempotency: Option<IdempotencyUse>) -> Refund {
    Refund {
        job,
        amount: amount.parse().ok(),
        reference: Some("unusable".into()),
        idempotency,
    }
}

fn refund(till: &mut Till, refund: &Refund) -> Result<LedgerEntry, RefundError> {
    till.decisions(|decisions, ids| {
        let id = TransactionId(ids.id());
        decisions.refund(id, refund, ids.now)
    })
}

fn done(till: &mut Till, price: &str) -> JobId {
    let job = till.running(price);
    till.apply(job, finish()).expect("finish");
    job
}

/// What is left, as the refusal says.
fn left(outcome: Result<LedgerEntry, RefundError>) -> String {
    match outcome {
        Err(RefundError::ExceedsCharge { left, .. }) => left.to_string(),
        other => panic!("{other:?}"),
    }
}

fn refunded(till: &Till, job: JobId) -> Option<String> {
    let found = JOB_REFUNDS.get(&till.store, &(ACCOUNT, job)).wait();
    found.expect("read").map(|it| it.to_string())
}

#[test]
fn a_job_is_refunded_at_most_its_charge() {
    let mut till = Till::with("5");
    let [job, other] = [done(&mut till, "0.039"), done(&mut till, "0.10")];
    assert_eq!(
        left(refund(&mut till, &refund_of(job, "0.04", None))),
        "0.039"
    );
    let part = refund(&mut till, &refund_of(job, "0.009", None)).expect("a part");
    assert_eq!(
        (part.kind, part.amount, part.job, part.balance_after),
        (
            EntryKind::Deposit,
            amount("0.009"),
            Some(job),
            amount("4.87")
        )
    );
    assert_eq!(
        left(refund(&mut till, &refund_of(job, "0.031", None))),
        "0.03"
    );
    let rest = refund(&mut till, &refund_of(job, "", None)).expect("the rest");
    assert_eq!(rest.amount, amount("0.03"));
    for more in ["", "0.000001"] {
        assert_eq!(left(refund(&mut till, &refund_of(job, more, None))), "0.00");
    }
    assert_eq!(refunded(&till, job).as_deref(), Some("0.039"));
    assert_eq!(refunded(&till, other), None);
    assert_eq!(till.figures(), ["4.90", "0.00", "4.90"]);
    till.check();
}

#[test]
fn two_refunds_of_one_round_share_the_charge() {
    let mut till = Till::with("5");
    let job = done(&mut till, "0.10");
    let outcomes = till.decisions(|decisions, ids| {
        [0, 1].map(|_| {
            let id = TransactionId(ids.id());
            decisions.refund(id, &refund_of(job, "0.06", None), ids.now)
        })
    });
    let [first, second] = outcomes;
    assert_eq!(first.expect("the first").amount, amount("0.06"));
    assert_eq!(left(second), "0.04");
    till.check();
}

#[test]
fn only_a_charged_job_of_the_account_is_refunded() {
    let mut till = Till::with("5");
    let queued = till.accept(new_job(amount("0.10"))).expect("accept").job;
    let running = till.running("0.10");
    let failed = till.running("0.10");
    till.apply(failed, fail()).expect("fail");
    for (job, status) in [
        (queued, "queued"),
        (running, "processing"),
        (failed, "failed"),
    ] {
        let refused = refund(&mut till, &refund_of(job, "0.01", None));
        assert!(
            matches!(refused, Err(RefundError::NotCharged(it)) if it == status),
            "{status}"
        );
    }
    let unknown = refund(&mut till, &refund_of(JobId(uuid(0xbad)), "", None));
    assert!(matches!(unknown, Err(RefundError::UnknownJob)));
    let free = done(&mut till, "0");
    assert_eq!(left(refund(&mut till, &refund_of(free, "", None))), "0.00");
    let paid = done(&mut till, "0.10");
    let negative = refund(&mut till, &refund_of(paid, "-0.01", None));
    let is_range = matches!(
        negative,
        Err(RefundError::Ledger(LedgerError::Range(
            AmountError::Negative
        )))
    );
    assert!(is_range);
    till.check();
}

#[test]
fn a_repeated_refund_is_made_once_and_shares_the_keys_of_deposits() {
    let mut till = Till::with("5");
    let job = done(&mut till, "0.10");
    let first = refund(&mut till, &refund_of(job, "", named("r", 1))).expect("refund");
    let again = refund(&mut till, &refund_of(job, "", named("r", 1))).expect("replay");
    assert_eq!(first, again);
    let other = refund(&mut till, &refund_of(job, "", named("r", 2)));
    assert!(matches!(other, Err(RefundError::KeyReused)));
    assert_eq!(till.figures()[0], "5.00");
    till.check();
}

#[test]
fn the_refund_of_a_deleted_job_stays_in_the_ledger() {
    let mut till = Till::with("5");
    let [old, recent] = [1, 2].map(|day| {
        till.now = on_day(day);
        let job = done(&mut till, "0.10");
        refund(&mut till, &refund_of(job, "0.06", None)).expect("refund");
        job
    });
    assert!(forget(&till.store, 2) > 0);
    assert_eq!(refunded(&till, old), None);
    assert_eq!(refunded(&till, recent).as_deref(), Some("0.06"));
    assert_eq!(till.figures()[0], "4.92");
    let again = refund(&mut till, &refund_of(old, "", None));
    assert!(matches!(again, Err(RefundError::UnknownJob)));
    till.check();
}

#[test]
fn a_refund_during_the_deletion_of_its_job_leaves_no_record_of_the_job() {
    let mut till = Till::with("5");
    till.now = on_day(1);
    let job = done(&mut till, "0.10");
    let step = till.store.delete_ended_jobs(2, &[]).wait();
    let (deletion, _) = step.expect("a step");
    refund(&mut till, &refund_of(job, "0.06", None)).expect("refund");
    decide(&till.store, deletion.expect("a deletion"));
    assert_eq!(refunded(&till, job), None);
    till.check();
}

#[test]
fn the_refunds_of_a_missing_job_are_reported() {
    let mut till = Till::with("5");
    till.now = on_day(1);
    let job = done(&mut till, "0.10");
    refund(&mut till, &refund_of(job, "0.06", None)).expect("refund");
    assert!(forget(&till.store, 2) > 0);
    let left = JOB_REFUNDS.put(&(ACCOUNT, job), &amount("0.06"));
    commit(&till.store, vec![left]);
    let fault = format!(
        "there is a sum of the refunds of job {job}, which does not exist or has not ended"
    );
    assert_eq!(till.faults(), [fault]);
}

#[test]
fn verification_compares_refunds_with_the_ledger_and_the_charge() {
    let mut till = Till::with("5");
    let job = done(&mut till, "0.10");
    let entry = refund(&mut till, &refund_of(job, "0.06", None)).expect("refund");
    till.check();
    let write = |till: &Till, write: Write| {
        commit_and_wait(&**till.store.engine(), vec![write]).expect("commit");
    };
    write(&till, JOB_REFUNDS.put(&(ACCOUNT, job), &amount("0.05")));
    write(&till, ACCOUNT_REFUNDS.put(&ACCOUNT, &amount("0.07")));
    assert_eq!(
        till.faults(),
        [
            format!("job {job}: refunds are 0.05 by its record, 0.06 by the ledger"),
            format!("account {ACCOUNT}: refunds are 0.07 by its record, 0.06 by the ledger"),
        ]
    );
    write(&till, JOB_REFUNDS.delete(&(ACCOUNT, job)));
    write(&till, ACCOUNT_REFUNDS.delete(&ACCOUNT));
    assert_eq!(
        till.faults(),
        [
            format!("job {job}: refunds are 0.00 by its record, 0.06 by the ledger"),
            format!("account {ACCOUNT}: refunds are 0.00 by its record, 0.06 by the ledger"),
        ]
    );
    let missing = JobId(uuid(0xbad));
    let of_missing = LedgerEntry {
        job: Some(missing),
        ..entry.clone()
    };
    write(&till, LEDGER.put(&(ACCOUNT, entry.id), &of_missing));
    write(&till, ACCOUNT_REFUNDS.put(&ACCOUNT, &amount("0.06")));
    assert_eq!(
        till.faults(),
        [format!(
            "account {ACCOUNT}: a refund is of job {missing}, which does not exist or has not ended"
        )]
    );
    let mut till = Till::with("5");
    let job = done(&mut till, "0.10");
    let deposit = till.deposit(deposit(amount("0.11"))).expect("deposit");
    let too_much = LedgerEntry {
        job: Some(job),
        ..deposit.clone()
    };
    write(&till, LEDGER.put(&(ACCOUNT, deposit.id), &too_much));
    write(&till, JOB_REFUNDS.put(&(ACCOUNT, job), &amount("0.11")));
    write(&till, ACCOUNT_REFUNDS.put(&ACCOUNT, &amount("0.11")));
    assert_eq!(
        till.faults(),
        [format!(
            "job {job}: its refunds are 0.11, more than its charge of 0.10"
        )]
    );
}
