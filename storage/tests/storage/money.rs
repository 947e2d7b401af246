//! Money: what is held, charged and given back, at the account book.

use crate::support::*;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::ids::{AccountId, JobId, TransactionId};
use tintype_storage::domain::job::{CANCELED, INTERRUPTED, JobEvent, JobState, TransitionError};
use tintype_storage::domain::ledger::{EntryKind, LedgerError};
use tintype_storage::engine::commit_and_wait;
use tintype_storage::engine::memory::MemoryEngine;
use tintype_storage::store::{AcceptError, DepositError, EventError, NewJob, Store, StoreError};

fn insufficient(outcome: &Result<impl Sized, AcceptError>) -> bool {
    matches!(
        outcome,
        Err(AcceptError::Ledger(LedgerError::Insufficient { .. }))
    )
}

/// Accepts and begins a job.
fn running(till: &mut Till, price: &str) -> JobId {
    let job = till.accept(new_job(amount(price))).expect("accept").job;
    till.apply(job, begin()).expect("begin");
    job
}

#[test]
fn hostile_37_ten_thousand_creates_with_funds_for_some() {
    for batch_size in [1, 7, 256, 10_000] {
        let mut till = Till::with("4.03899"); // 103 times 0.039 is 4.017; 104 times is 4.056
        let (mut accepted, mut refused, mut asked) = (0, 0, 0);
        while asked < 10_000 {
            let count = batch_size.min(10_000 - asked);
            asked += count;
            till.batch(|batch, ids| {
                for _ in 0..count {
                    let outcome = ids.accept(batch, new_job(amount("0.039")));
                    refused += usize::from(insufficient(&outcome));
                    accepted += usize::from(outcome.is_ok());
                }
            });
        }
        assert_eq!((accepted, refused), (103, 9_897), "batches of {batch_size}");
        assert_eq!(till.figures(), ["4.03899", "4.017", "0.02199"]);
        till.check();
    }
}

#[test]
fn hostile_38_the_same_with_eight_keys_of_one_account() {
    let mut till = Till::with("10");
    let mut accepted = [0; 8];
    for round in 0..50 {
        till.batch(|batch, ids| {
            for at in 0..8 {
                let number = (at + round) % 8;
                let new = NewJob {
                    key: key(number as u128),
                    spend_limit: Some(amount("1.30")),
                    ..new_job(amount("0.10"))
                };
                accepted[number] += usize::from(ids.accept(batch, new).is_ok());
            }
        });
    }
    // 100 are paid for; no key may have more than 13 of them.
    assert_eq!(accepted.iter().sum::<usize>(), 100);
    assert!(accepted.iter().all(|count| *count <= 13), "{accepted:?}");
    till.check();
}

#[test]
fn hostile_39_exactly_the_price_and_one_unit_less() {
    let price = amount("0.039");
    let mut till = Till::with("0.039");
    till.accept(new_job(price)).expect("exactly the price");
    assert_eq!(till.figures(), ["0.039", "0.039", "0.00"]);
    assert!(insufficient(&till.accept(new_job(amount("0.000001")))));

    let mut till = Till::with("0.038999");
    assert!(insufficient(&till.accept(new_job(price))));
    assert_eq!(till.figures(), ["0.038999", "0.00", "0.038999"]);
    till.deposit(deposit(amount("0.000001"))).expect("deposit");
    till.accept(new_job(price)).expect("now it is enough");
    till.check();
}

#[test]
fn hostile_40_a_price_change_between_hold_and_settle_changes_nothing() {
    let mut till = Till::with("1");
    let old = running(&mut till, "0.10");
    let new = running(&mut till, "0.70");
    till.apply(old, finish()).expect("finish");
    assert_eq!(till.figures(), ["0.90", "0.70", "0.20"]);
    till.apply(new, fail()).expect("fail");
    assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
    till.check();
}

#[test]
fn hostile_40_negative_deposits() {
    let mut till = Till::with("1");
    running(&mut till, "0.40");
    let refused = till.deposit(deposit(amount("-0.600001")));
    assert!(matches!(
        refused,
        Err(DepositError::Ledger(LedgerError::BelowReserved { reserved })) if reserved == amount("0.40")
    ));
    let entry = till.deposit(deposit(amount("-0.6"))).expect("correction");
    assert_eq!(
        (entry.kind, entry.amount, entry.balance_after),
        (EntryKind::Adjustment, amount("-0.60"), amount("0.40"))
    );
    assert_eq!(till.figures(), ["0.40", "0.40", "0.00"]);
    till.check();
}

#[test]
fn hostile_40_no_sum_overflows() {
    let most = "999999999999999.999999";
    let mut till = Till::with(most);
    let refused = till.deposit(deposit(amount("0.000001")));
    let range = |error: &LedgerError| *error == LedgerError::Range(AmountError::TooLarge);
    assert!(matches!(refused, Err(DepositError::Ledger(error)) if range(&error)));
    till.accept(new_job(amount(most))).expect("all of it");
    assert_eq!(till.figures(), [most, most, "0.00"]);
    till.check();
}

#[test]
fn hostile_40_a_negative_price_is_no_deposit() {
    let mut till = Till::with("1");
    running(&mut till, "0.50");
    let refused = till.accept(new_job(amount("-0.20")));
    assert!(matches!(
        refused,
        Err(AcceptError::Ledger(LedgerError::Range(
            AmountError::Negative
        )))
    ));
    assert_eq!(till.figures(), ["1.00", "0.50", "0.50"]);
}

#[test]
fn hostile_41_settled_once_whatever_comes_late() {
    for in_one_batch in [true, false] {
        let mut till = Till::with("1");
        let [done, failed] = [running(&mut till, "0.10"), running(&mut till, "0.20")];
        let events = [
            (done, finish()),
            (failed, fail()),
            (done, finish()),
            (done, fail()),
            (done, begin()),
            (done, JobEvent::Cancel),
            (done, JobEvent::CutOff),
            (failed, finish()),
            (failed, fail()),
        ];
        let outcomes: Vec<_> = if in_one_batch {
            till.batch(|batch, ids| events.map(|(job, event)| ids.apply(batch, job, event)))
                .into()
        } else {
            events.map(|(job, event)| till.apply(job, event)).into()
        };
        assert!(outcomes[..2].iter().all(Result::is_ok));
        for late in &outcomes[2..] {
            assert!(
                matches!(
                    late,
                    Err(EventError::Transition(TransitionError::AlreadyTerminal(_)))
                ),
                "{late:?}"
            );
        }
        assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
        let charges = till.store.ledger(ACCOUNT, 99, None).expect("ledger").items;
        assert_eq!(charges.len(), 2, "the opening deposit and one charge");
        till.check();
    }
}

#[test]
fn hostile_41_cancel_and_begin_in_one_batch() {
    for cancel_first in [true, false] {
        let mut till = Till::with("1");
        let job = till.accept(new_job(amount("0.10"))).expect("accept").job;
        let (cancel, run) = till.batch(|batch, ids| {
            if cancel_first {
                let cancel = ids.apply(batch, job, JobEvent::Cancel);
                (cancel, ids.apply(batch, job, begin()))
            } else {
                let run = ids.apply(batch, job, begin());
                (ids.apply(batch, job, JobEvent::Cancel), run)
            }
        });
        if cancel_first {
            let JobState::Failed {
                error, started_at, ..
            } = cancel.expect("cancel").state
            else {
                panic!("not failed")
            };
            assert_eq!((error.as_str(), started_at), (CANCELED, None));
            assert!(matches!(
                run,
                Err(EventError::Transition(TransitionError::AlreadyTerminal(
                    "failed"
                )))
            ));
            assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
        } else {
            run.expect("begin");
            assert!(matches!(
                cancel,
                Err(EventError::Transition(TransitionError::AlreadyStarted))
            ));
            till.apply(job, finish()).expect("finish");
            assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
        }
        till.check();
    }
}

#[test]
fn hostile_41_a_whole_life_in_one_batch() {
    let mut till = Till::with("0.10");
    till.batch(|batch, ids| {
        for _ in 0..3 {
            // Funds for one: what a failed job gives back pays for the next, within the batch.
            let job = ids.accept(batch, new_job(amount("0.10"))).expect("accept");
            assert!(insufficient(
                &ids.accept(batch, new_job(amount("0.000001")))
            ));
            ids.apply(batch, job.job, begin()).expect("begin");
            ids.apply(batch, job.job, fail()).expect("fail");
        }
        let job = ids.accept(batch, new_job(amount("0.10"))).expect("accept");
        ids.apply(batch, job.job, begin()).expect("begin");
        ids.apply(batch, job.job, finish()).expect("finish");
        assert!(insufficient(
            &ids.accept(batch, new_job(amount("0.000001")))
        ));
    });
    assert_eq!(till.figures(), ["0.00", "0.00", "0.00"]);
    till.check();
}

#[test]
fn hostile_42_a_failed_job_gives_back_exactly() {
    let mut till = Till::with("0.300001");
    let before = till.books();
    for price in ["0.1", "0.2", "0.300001", "0.000001", "0"] {
        let job = running(&mut till, price);
        till.apply(job, fail()).expect("fail");
        assert_eq!(till.books(), before);
    }
    assert_eq!(till.book.live_jobs(), 0);
    till.check();
}

#[test]
fn hostile_43_deposits_between_creates() {
    let mut till = Till::with("0");
    let mut accepted = 0;
    for _ in 0..100 {
        till.batch(|batch, ids| {
            for _ in 0..3 {
                accepted += u32::from(ids.accept(batch, new_job(amount("0.039"))).is_ok());
                ids.deposit(batch, deposit(amount("0.013")))
                    .expect("deposit");
                accepted += u32::from(ids.accept(batch, new_job(amount("0.039"))).is_ok());
            }
        });
    }
    // 300 deposits of 0.013 pay for exactly 100 jobs of 0.039.
    assert_eq!(accepted, 100);
    assert_eq!(till.figures(), ["3.90", "3.90", "0.00"]);
    till.check();
}

#[test]
fn hostile_46_a_restart_between_each_pair_of_events_changes_nothing() {
    let run = |restarts: bool| {
        let mut till = Till::with("1");
        let mut jobs = Vec::new();
        for step in 0..40 {
            if step % 4 == 0 {
                let job = till.accept(new_job(amount("0.05"))).expect("accept");
                jobs.push(job.job);
            }
            let job = jobs[step / 4];
            let event = match (step % 4, step / 4 % 3) {
                (1, _) => begin(),
                (2, _) => JobEvent::CutOff,
                (3, 0) => finish(),
                (3, 1) => fail(),
                _ => begin(),
            };
            // The first step of each four meets a job that may not be started yet: refused in both runs alike.
            let _ = till.apply(job, event);
            if restarts {
                let next = Till::reload(till.store.clone(), ACCOUNT);
                till.book = next.book;
            }
        }
        till.check();
        let pairs = till.store.engine().scan(
            &tintype_storage::engine::KeyRange::prefix(b""),
            tintype_storage::engine::Direction::Rising,
            usize::MAX,
        );
        pairs.expect("scan")
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn the_spend_limit_counts_what_is_spent_and_what_is_held() {
    let mut till = Till::with("100");
    let limited = |number| NewJob {
        key: key(number),
        spend_limit: Some(amount("1.00")),
        ..new_job(amount("0.40"))
    };
    let done = till.accept(limited(1)).expect("first").job;
    let failed = till.accept(limited(1)).expect("second").job;
    let refused = till.accept(limited(1));
    assert!(
        matches!(&refused, Err(AcceptError::KeyLimit { limit, used, price })
            if (*limit, *used, *price) == (amount("1"), amount("0.80"), amount("0.40"))),
        "{refused:?}"
    );
    till.accept(limited(2)).expect("another key has its own");
    for job in [done, failed] {
        till.apply(job, begin()).expect("begin");
    }
    till.apply(done, finish()).expect("finish");
    till.apply(failed, fail()).expect("fail");
    // 0.40 spent, nothing held: one more of 0.40 fits, and exactly 0.20 after it.
    for reloaded in [false, true] {
        if reloaded {
            till.book = Till::reload(till.store.clone(), ACCOUNT).book;
        } else {
            till.accept(limited(1)).expect("0.80");
        }
        assert!(matches!(
            till.accept(limited(1)),
            Err(AcceptError::KeyLimit { .. })
        ));
    }
    let rest = NewJob {
        price: amount("0.20"),
        ..limited(1)
    };
    let more = NewJob {
        price: amount("0.200001"),
        ..limited(1)
    };
    assert!(matches!(
        till.accept(more),
        Err(AcceptError::KeyLimit { .. })
    ));
    till.accept(rest).expect("exactly the limit");
    assert_eq!(till.store.key_spent(key(1)).expect("spent"), amount("0.40"));
    assert_eq!(till.store.key_spent(key(2)).expect("spent"), Amount::ZERO);
    till.check();
}

#[test]
fn an_account_may_have_so_many_live_jobs_and_no_more() {
    let mut till = Till::with("1");
    till.limits.max_live_per_account = 2;
    let first = running(&mut till, "0.10");
    till.batch(|batch, ids| {
        ids.accept(batch, new_job(amount("0.10"))).expect("second");
        let refused = ids.accept(batch, new_job(amount("0.10")));
        assert!(matches!(refused, Err(AcceptError::TooManyLive(2))));
        ids.apply(batch, first, finish()).expect("finish");
        ids.accept(batch, new_job(amount("0.10"))).expect("a place");
        let refused = ids.accept(batch, new_job(amount("0.10")));
        assert!(matches!(refused, Err(AcceptError::TooManyLive(2))));
    });
    assert_eq!(till.figures(), ["0.90", "0.20", "0.70"]);
    till.check();
}

#[test]
fn runs_are_counted_and_the_last_one_ends_the_job() {
    let mut till = Till::with("1");
    let job = running(&mut till, "0.10");
    let first = at(till.now);
    for _ in 0..5 {
        // A run that an orderly stop cut off does not count.
        till.now += 1_000;
        till.apply(job, JobEvent::CutOff).expect("cut off");
        till.apply(job, begin()).expect("begin");
    }
    for run in [2, 3] {
        till.now += 1_000;
        let state = till.apply(job, begin()).expect("begin").state;
        assert_eq!(
            state,
            JobState::Processing {
                started_at: first,
                runs: run
            }
        );
    }
    let ended = till.apply(job, begin()).expect("the fourth").state;
    assert_eq!(
        ended,
        JobState::Failed {
            started_at: Some(first),
            finished_at: at(till.now),
            error: INTERRUPTED.into()
        }
    );
    assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
    till.check();
}

#[test]
fn hostile_109_a_clock_set_back_starts_no_job_before_it_was_accepted() {
    let mut till = Till::with("1");
    let accepted_at = at(till.now);
    let run = till.accept(new_job(amount("0.10"))).expect("accept").job;
    let canceled = till.accept(new_job(amount("0.10"))).expect("accept").job;
    till.now -= 500_000;
    let job = till.apply(run, begin()).expect("begin");
    assert!(
        matches!(job.state, JobState::Processing { started_at, .. } if started_at == accepted_at)
    );
    let job = till.apply(canceled, JobEvent::Cancel).expect("cancel");
    assert!(
        matches!(job.state, JobState::Failed { finished_at, .. } if finished_at == accepted_at)
    );
}

#[test]
fn unknown_jobs_and_those_of_others_are_not_found() {
    let engine = std::sync::Arc::new(MemoryEngine::new());
    let mut till = Till::open(engine.clone(), ACCOUNT, amount("1"));
    let other = AccountId(uuid(0xacd));
    let mut others = Till::open(engine, other, amount("1"));
    let theirs = running(&mut others, "0.10");
    for job in [theirs, JobId(uuid(77))] {
        for event in [
            begin(),
            finish(),
            fail(),
            JobEvent::Cancel,
            JobEvent::CutOff,
        ] {
            assert!(matches!(till.apply(job, event), Err(EventError::NotFound)));
        }
    }
    assert_eq!(till.store.job(ACCOUNT, theirs).expect("read"), None);
    assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
    assert_eq!(others.figures(), ["1.00", "0.10", "0.90"]);
    others.check();
}

#[test]
fn a_batch_that_decides_nothing_writes_nothing() {
    let mut till = Till::with("0");
    let mut batch = till.book.batch(&till.store, limits());
    let refused = batch.accept(JobId(uuid(9)), new_job(amount("1")), at(0));
    assert!(insufficient(&refused));
    let unknown = batch.apply(JobId(uuid(9)), begin(), TransactionId(uuid(10)), at(0));
    assert!(matches!(unknown, Err(EventError::NotFound)));
    assert!(batch.into_writes().expect("writes").is_empty());
}

#[test]
fn an_event_that_meets_a_damaged_record_leaves_the_batch_fit_to_commit() {
    let mut till = Till::with("1");
    let job = running(&mut till, "0.10");
    let store: Store = till.store.clone();
    // What key 1 has spent cannot be read any more: its record has an unknown version.
    let spent = [b"u".as_slice(), key(1).as_bytes()].concat();
    commit_and_wait(&**store.engine(), vec![(spent.clone(), Some(vec![99]))]).expect("damage");
    till.book = Till::reload(store.clone(), ACCOUNT).book;
    till.batch(|batch, ids| {
        let refused = ids.apply(batch, job, finish());
        assert!(matches!(
            refused,
            Err(EventError::Store(StoreError::Damaged { .. }))
        ));
        ids.deposit(batch, deposit(amount("1"))).expect("deposit");
    });
    commit_and_wait(&**store.engine(), vec![(spent, None)]).expect("mend");
    assert_eq!(till.figures(), ["2.00", "0.10", "1.90"]);
    till.check();
    till.apply(job, finish()).expect("finish");
    till.check();
}
