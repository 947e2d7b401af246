//! Money: reservations, charges and releases in account decisions.

use crate::support::*;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::ledger::{EntryKind, LedgerError};
use tintype_storage::domain::spending::{Period, SpendLimits};
use tintype_storage::domain::time::DAY_MILLIS;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::LEDGER;
use tintype_storage::store::{AcceptError, DepositError, NewJob};

#[test]
fn hostile_37_of_ten_thousand_creates_exactly_those_with_funds_are_accepted() {
    for batch_size in [1, 7, 256, 10_000] {
        let mut till = Till::with("4.03899"); // 103 times 0.039 is 4.017; 104 times is 4.056
        let (mut accepted, mut refused, mut asked) = (0, 0, 0);
        while asked < 10_000 {
            let count = batch_size.min(10_000 - asked);
            asked += count;
            till.decisions(|decisions, ids| {
                for _ in 0..count {
                    let outcome = ids.accept(decisions, new_job(amount("0.039")));
                    refused += usize::from(insufficient(&outcome));
                    accepted += usize::from(outcome.is_ok());
                }
            });
        }
        assert_eq!((accepted, refused), (103, 9_897), "rounds of {batch_size}");
        assert_eq!(till.figures(), ["4.03899", "4.017", "0.02199"]);
        till.check();
    }
}

#[test]
fn hostile_38_creates_with_eight_keys_of_one_account_spend_exactly_its_funds() {
    let mut till = Till::with("10");
    let mut accepted = [0; 8];
    for number in 0..8 {
        till.spend_limits.insert(key(number), limit("1.30"));
    }
    for round in 0..50 {
        till.decisions(|decisions, ids| {
            for at in 0..8 {
                let number = (at + round) % 8;
                let new = NewJob {
                    key: key(number as u128),
                    ..new_job(amount("0.10"))
                };
                accepted[number] += usize::from(ids.accept(decisions, new).is_ok());
            }
        });
    }
    // The money covers 100 jobs; no key may have more than 13.
    assert_eq!(accepted.iter().sum::<usize>(), 100);
    assert!(accepted.iter().all(|count| *count <= 13), "{accepted:?}");
    till.check();
}

#[test]
fn a_charge_is_made_when_its_job_ends_though_the_clock_was_set_back() {
    let midnight = 5 * DAY_MILLIS;
    // A restart may lose the ids of the day, but an entry is never later than its id.
    for (id, charged_at) in [(midnight + 7, midnight + 7), (midnight - 5, midnight - 5)] {
        let mut till = Till::with("1");
        till.now = midnight - 9;
        till.continue_after(id_of(till.now).as_u128());
        let job = till.accept(new_job(amount("0.10"))).expect("accept").job;
        till.now = midnight + 7;
        till.apply(job, begin()).expect("begin");
        till.continue_after(id_of(id).as_u128());
        till.now = midnight - 5;
        let done = till.apply(job, finish()).expect("finish");
        assert_eq!(done.state.finished_at(), Some(at(midnight + 7)));
        let newest = LEDGER.page(&till.store, &ACCOUNT, 9, None).wait();
        let entries = newest.expect("ledger").items;
        let charge = entries.iter().find(|entry| entry.job == Some(job));
        assert_eq!(charge.expect("a charge").created_at, at(charged_at));
        till.check();
    }
}

#[test]
fn hostile_39_exactly_the_price_suffices_and_one_unit_less_does_not() {
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
    let old = till.running("0.10");
    let new = till.running("0.70");
    till.apply(old, finish()).expect("finish");
    assert_eq!(till.figures(), ["0.90", "0.70", "0.20"]);
    till.apply(new, fail()).expect("fail");
    assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
    till.check();
}

#[test]
fn hostile_40_a_negative_deposit_leaves_the_reserved_amount() {
    let mut till = Till::with("1");
    till.running("0.40");
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
    till.running("0.50");
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
fn hostile_41_jobs_are_accepted_and_ended_in_one_round() {
    let mut till = Till::with("0.10");
    till.decisions(|decisions, ids| {
        for _ in 0..3 {
            // Funds for one job: the release of a failed job pays for the next one in the same round.
            let job = ids
                .accept(decisions, new_job(amount("0.10")))
                .expect("accept");
            assert!(insufficient(
                &ids.accept(decisions, new_job(amount("0.000001")))
            ));
            ids.apply(decisions, job.job, begin()).expect("begin");
            ids.apply(decisions, job.job, fail()).expect("fail");
        }
        let job = ids
            .accept(decisions, new_job(amount("0.10")))
            .expect("accept");
        ids.apply(decisions, job.job, begin()).expect("begin");
        ids.apply(decisions, job.job, finish()).expect("finish");
        assert!(insufficient(
            &ids.accept(decisions, new_job(amount("0.000001")))
        ));
    });
    assert_eq!(till.figures(), ["0.00", "0.00", "0.00"]);
    till.check();
}

#[test]
fn hostile_42_a_failed_job_releases_exactly_its_hold() {
    let mut till = Till::with("0.300001");
    let before = till.books();
    for price in ["0.1", "0.2", "0.300001", "0.000001", "0"] {
        let job = till.running(price);
        till.apply(job, fail()).expect("fail");
        assert_eq!(till.books(), before);
    }
    assert_eq!(till.book.live_jobs(), 0);
    till.check();
}

#[test]
fn hostile_43_deposits_between_creates_are_spent_exactly() {
    let mut till = Till::with("0");
    let mut accepted = 0;
    for _ in 0..100 {
        till.decisions(|decisions, ids| {
            for _ in 0..3 {
                accepted += u32::from(ids.accept(decisions, new_job(amount("0.039"))).is_ok());
                ids.deposit(decisions, deposit(amount("0.013")))
                    .expect("deposit");
                accepted += u32::from(ids.accept(decisions, new_job(amount("0.039"))).is_ok());
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
            // The first of every four steps meets a job that has not started: both runs refuse it.
            let _ = till.apply(job, event);
            if restarts {
                let next = Till::reload(till.store.clone(), ACCOUNT);
                till.book = next.book;
            }
        }
        till.check();
        let pairs = till
            .store
            .engine()
            .scan(
                &tintype_storage::engine::KeyRange::prefix(b""),
                tintype_storage::engine::Direction::Rising,
                usize::MAX,
            )
            .wait();
        pairs.expect("scan")
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn the_spend_limit_counts_spent_and_reserved_money() {
    let mut till = Till::with("100");
    for number in [1, 2] {
        till.spend_limits.insert(key(number), limit("1.00"));
    }
    let limited = |number| NewJob {
        key: key(number),
        ..new_job(amount("0.40"))
    };
    let done = till.accept(limited(1)).expect("first").job;
    let failed = till.accept(limited(1)).expect("second").job;
    let refused = till.accept(limited(1));
    assert!(
        matches!(&refused, Err(AcceptError::KeyLimit(it))
            if (it.period, it.limit, it.used, it.price)
                == (Period::Total, amount("1"), amount("0.80"), amount("0.40"))),
        "{refused:?}"
    );
    till.accept(limited(2)).expect("another key has its own");
    for job in [done, failed] {
        till.apply(job, begin()).expect("begin");
    }
    till.apply(done, finish()).expect("finish");
    till.apply(failed, fail()).expect("fail");
    // 0.40 spent, nothing reserved: another 0.40 fits, and exactly 0.20 after it.
    for reloaded in [false, true] {
        if reloaded {
            till.book = Till::reload(till.store.clone(), ACCOUNT).book;
        } else {
            till.accept(limited(1)).expect("0.80");
        }
        assert!(matches!(
            till.accept(limited(1)),
            Err(AcceptError::KeyLimit(_))
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
    assert!(matches!(till.accept(more), Err(AcceptError::KeyLimit(_))));
    till.accept(rest).expect("exactly the limit");
    assert_eq!(
        till.store.key_spending(key(1)).wait().expect("spent").total,
        amount("0.40")
    );
    assert_eq!(
        till.store.key_spending(key(2)).wait().expect("spent").total,
        Amount::ZERO
    );
    till.check();
}

/// Accepts jobs under limits until one is refused: their number, and the limit that refused.
fn until_refused(till: &mut Till, new: &NewJob) -> (usize, Period) {
    for accepted in 0..100 {
        match till.accept(new.clone()) {
            Ok(job) => {
                till.apply(job.job, begin()).expect("begin");
                till.apply(job.job, finish()).expect("finish");
            }
            Err(AcceptError::KeyLimit(reached)) => return (accepted, reached.period),
            Err(other) => panic!("{other}"),
        }
    }
    panic!("no limit holds")
}

#[test]
fn a_day_and_a_month_have_separate_limits() {
    const DAY: i64 = 86_400_000;
    let mut till = Till::with("100");
    let limits = SpendLimits {
        total: Some(amount("1.30")),
        monthly: Some(amount("0.90")),
        daily: Some(amount("0.40")),
    };
    let new = new_job(amount("0.20"));
    till.spend_limits.insert(new.key, limits);
    // 1 ms before midnight on 29 January 1970.
    till.now = 29 * DAY - 1;
    assert_eq!(until_refused(&mut till, &new), (2, Period::Day));
    till.now = 29 * DAY;
    assert_eq!(until_refused(&mut till, &new), (2, Period::Month));
    till.now = 30 * DAY;
    assert_eq!(until_refused(&mut till, &new), (0, Period::Month));
    till.book = Till::reload(till.store.clone(), ACCOUNT).book;
    assert_eq!(until_refused(&mut till, &new), (0, Period::Month));
    till.now = 31 * DAY;
    assert_eq!(until_refused(&mut till, &new), (2, Period::Total));
    till.check();
}

#[test]
fn money_reserved_over_midnight_counts_for_the_new_day() {
    const DAY: i64 = 86_400_000;
    let mut till = Till::with("100");
    let limits = SpendLimits {
        daily: Some(amount("0.40")),
        ..SpendLimits::default()
    };
    let new = new_job(amount("0.20"));
    till.spend_limits.insert(new.key, limits);
    till.now = DAY - 1;
    let jobs = [0, 1].map(|_| till.accept(new.clone()).expect("within the day").job);
    till.now = DAY;
    assert!(matches!(
        till.accept(new.clone()),
        Err(AcceptError::KeyLimit(_))
    ));
    for job in jobs {
        till.apply(job, begin()).expect("begin");
    }
    till.apply(jobs[0], finish()).expect("finish");
    till.apply(jobs[1], fail()).expect("fail");
    assert_eq!(until_refused(&mut till, &new), (1, Period::Day));
    till.check();
}

/// Accepted on one day, ended on the day before under a clock set back: the charge counts on the day before, within that day's
/// limit.
#[test]
fn hostile_109_a_clock_set_back_does_not_let_a_key_exceed_its_limits() {
    const DAY: i64 = 86_400_000;
    let mut till = Till::with("100");
    let limits = SpendLimits {
        daily: Some(amount("0.40")),
        monthly: Some(amount("0.40")),
        ..SpendLimits::default()
    };
    let new = new_job(amount("0.20"));
    till.spend_limits.insert(new.key, limits);
    // The last day of January, and the first of February.
    till.now = 31 * DAY - 1;
    assert_eq!(until_refused(&mut till, &new).0, 2);
    till.now = 31 * DAY;
    let jobs = [0, 1].map(|_| till.accept(new.clone()).expect("a new day").job);
    till.now = 31 * DAY - 1;
    for job in jobs {
        till.apply(job, begin()).expect("begin");
        till.apply(job, finish()).expect("finish");
    }
    let spent = till.store.key_spending(key(1)).wait().expect("read");
    for period in [Period::Day, Period::Month] {
        for now in [till.now, 31 * DAY] {
            let spent = spent.within(period, at(now));
            assert_eq!(spent, amount("0.40"), "{period} at {now}");
        }
    }
    till.check();
}
