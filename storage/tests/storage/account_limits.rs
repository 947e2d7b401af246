//! The operator's account limits and a key's limit of live jobs: no combination of keys, days and restarts exceeds them.

use crate::support::{ACCOUNT, Till, amount, at, begin, encode, fail, finish, key, new_job};
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::account_limits::{AccountLimits, AccountLimitsChange};
use tintype_storage::domain::api_key::{ApiKey, KeyHash, RateLimit};
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::spending::{Period, Spending};
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::{AcceptError, NewJob};

const DAY: i64 = 86_400_000;

/// Sets or removes the limits that `change` names.
fn set(till: &mut Till, change: AccountLimitsChange) {
    till.change(AccountChange {
        limits: Some(Some(change)),
        ..AccountChange::default()
    });
}

fn spends(day: Option<&str>, month: Option<&str>) -> AccountLimitsChange {
    AccountLimitsChange {
        spend_per_day: Some(day.map(amount)),
        spend_per_month: Some(month.map(amount)),
        ..AccountLimitsChange::default()
    }
}

fn of_key(number: u128, price: &str) -> NewJob {
    NewJob {
        key: key(number),
        ..new_job(amount(price))
    }
}

fn end(till: &mut Till, job: JobId) {
    till.apply(job, begin()).expect("begin");
    till.apply(job, finish()).expect("finish");
}

/// Accepts and charges jobs, each of another key, until one is refused: their number, and the limit that refused.
fn until_refused(till: &mut Till, price: &str) -> (usize, Period) {
    for accepted in 0..100 {
        match till.accept(of_key(accepted as u128 % 7, price)) {
            Ok(job) => end(till, job.job),
            Err(AcceptError::AccountLimit(reached)) => return (accepted, reached.period),
            Err(other) => panic!("{other}"),
        }
    }
    panic!("no limit holds")
}

#[test]
fn no_number_of_keys_exceeds_the_daily_or_monthly_limit_of_the_account() {
    let mut till = Till::with("100");
    // 1 ms before midnight on 29 January 1970.
    till.now = 29 * DAY - 1;
    set(&mut till, spends(Some("0.40"), Some("0.90")));
    assert_eq!(until_refused(&mut till, "0.20"), (2, Period::Day));
    till.now = 29 * DAY;
    assert_eq!(until_refused(&mut till, "0.20"), (2, Period::Month));
    till.now = 30 * DAY;
    till.book = Till::reload(till.store.clone(), ACCOUNT).book;
    assert_eq!(until_refused(&mut till, "0.20"), (0, Period::Month));
    till.now = 31 * DAY;
    assert_eq!(until_refused(&mut till, "0.20"), (2, Period::Day));
    till.check();
}

#[test]
fn reserved_money_counts_and_released_money_does_not() {
    let mut till = Till::with("100");
    set(&mut till, spends(Some("1.00"), None));
    let jobs = [1, 2].map(|number| till.accept(of_key(number, "0.40")).expect("accept").job);
    let refused = till.accept(of_key(3, "0.200001"));
    assert!(
        matches!(&refused, Err(AcceptError::AccountLimit(it))
            if (it.period, it.limit, it.used) == (Period::Day, amount("1"), amount("0.80"))),
        "{refused:?}"
    );
    till.accept(of_key(3, "0.20")).expect("exactly the limit");
    till.apply(jobs[0], begin()).expect("begin");
    till.apply(jobs[0], fail()).expect("fail");
    end(&mut till, jobs[1]);
    till.accept(of_key(4, "0.40")).expect("what was released");
    let refused = till.accept(of_key(4, "0.000001"));
    assert!(matches!(refused, Err(AcceptError::AccountLimit(_))));
    till.check();
}

#[test]
fn a_clock_set_back_does_not_let_an_account_exceed_its_limits() {
    let mut till = Till::with("100");
    till.now = 31 * DAY - 1;
    set(&mut till, spends(Some("0.40"), Some("0.40")));
    assert_eq!(until_refused(&mut till, "0.20").0, 2);
    till.now = 31 * DAY;
    let jobs = [1, 2].map(|number| till.accept(of_key(number, "0.20")).expect("a new day").job);
    till.now = 31 * DAY - 1;
    for job in jobs {
        end(&mut till, job);
    }
    assert_eq!(until_refused(&mut till, "0.20").0, 0);
    let spending = till.book.account().spending.expect("counted");
    for now in [till.now, 31 * DAY] {
        assert_eq!(spending.within(Period::Day, at(now)), amount("0.40"));
    }
    till.check();
}

#[test]
fn a_limit_set_later_counts_earlier_charges() {
    let mut till = Till::with("100");
    till.now = 40 * DAY;
    let old = till.running("5.00");
    till.apply(old, finish()).expect("finish");
    // 1 March, and two days of it.
    till.now = 59 * DAY;
    let yesterday = till.running("1.00");
    till.apply(yesterday, finish()).expect("finish");
    till.now = 60 * DAY;
    let today = till.running("0.30");
    assert_eq!(till.book.account().spending, None);
    // The charge and the change share a commit.
    let now = at(till.now);
    till.decisions(|decisions, ids| {
        ids.apply(decisions, today, finish()).expect("finish");
        let change = AccountChange {
            limits: Some(Some(spends(Some("1.00"), Some("2.00")))),
            ..AccountChange::default()
        };
        decisions.change(change).expect("change");
    });
    let spending = till.book.account().spending.expect("counted");
    let within = |period| spending.within(period, now).to_string();
    assert_eq!(
        [Period::Day, Period::Month, Period::Total].map(within),
        ["0.30", "1.30", "6.30"]
    );
    assert_eq!(until_refused(&mut till, "0.35"), (2, Period::Month));
    set(&mut till, spends(None, None));
    assert_eq!(till.book.account().spending, None, "nothing to count for");
    till.check();
}

/// A day without a charge begins no spending window, as for an account whose limit was set before.
#[test]
fn a_limit_set_after_a_day_of_failed_jobs_counts_the_charges_before() {
    let mut till = Till::with("100");
    till.now = 40 * DAY;
    let paid = till.running("1.00");
    till.apply(paid, finish()).expect("finish");
    till.now = 41 * DAY;
    let failed = till.running("0.30");
    till.apply(failed, fail()).expect("fail");
    set(&mut till, spends(Some("1.00"), Some("1.00")));
    till.check();
}

#[test]
fn a_balance_is_low_if_less_than_the_threshold_is_available() {
    let mut till = Till::with("1.10");
    till.change(AccountChange {
        low_balance: Some(Some(amount("1"))),
        ..AccountChange::default()
    });
    till.running("0.10");
    assert!(!till.book.account().is_low(), "1.00 is available");
    till.running("0.000001");
    assert!(till.book.account().is_low());
    till.change(AccountChange {
        low_balance: Some(None),
        ..AccountChange::default()
    });
    assert!(!till.book.account().is_low(), "there is no threshold");
}

#[test]
fn live_jobs_of_the_account_are_bounded_and_each_end_makes_room() {
    let mut till = Till::with("100");
    let most = |most| AccountLimitsChange {
        max_concurrent: Some(most),
        ..AccountLimitsChange::default()
    };
    set(&mut till, most(Some(2)));
    let jobs = [1, 2].map(|number| till.accept(of_key(number, "0.10")).expect("accept").job);
    for reloaded in [false, true] {
        if reloaded {
            till.book = Till::reload(till.store.clone(), ACCOUNT).book;
        }
        let refused = till.accept(of_key(3, "0.10"));
        assert!(matches!(
            refused,
            Err(AcceptError::TooManyLive {
                live: 2,
                most: 2,
                ..
            })
        ));
    }
    end(&mut till, jobs[0]);
    till.accept(of_key(3, "0.10")).expect("there is room");
    assert!(till.accept(of_key(3, "0.10")).is_err());
    set(&mut till, most(None));
    till.accept(of_key(3, "0.10")).expect("no limit");
    till.check();
}

/// Accepts a job of a key that may have `most` live jobs.
fn accept_with_most(till: &mut Till, id: KeyId, most: u32) -> Result<JobId, AcceptError> {
    till.decisions(|decisions, ids| {
        let terms = ApiKey {
            max_concurrent: Some(most),
            ..ApiKey::with_all_rights(id, decisions.account().id, at(0))
        };
        decisions.change_key(id, Some((KeyHash([0; 32]), terms)), Vec::new());
        let new = NewJob {
            key: id,
            ..new_job(amount("0.10"))
        };
        let accepted = decisions.accept(JobId(ids.id()), &new, ids.now)?;
        Ok(accepted.job)
    })
}

#[test]
fn live_jobs_of_a_key_are_limited_regardless_of_other_keys() {
    let mut till = Till::with("100");
    till.accept(of_key(2, "0.10")).expect("another key");
    let first = accept_with_most(&mut till, key(1), 2).expect("first");
    accept_with_most(&mut till, key(1), 2).expect("second");
    for reloaded in [false, true] {
        if reloaded {
            till.book = Till::reload(till.store.clone(), ACCOUNT).book;
        }
        let refused = accept_with_most(&mut till, key(1), 2);
        assert!(
            matches!(
                refused,
                Err(AcceptError::TooManyLiveOfKey {
                    live: 2,
                    most: 2,
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    accept_with_most(&mut till, key(2), 2).expect("another key has its own");
    end(&mut till, first);
    accept_with_most(&mut till, key(1), 2).expect("there is room");
    assert!(accept_with_most(&mut till, key(1), 2).is_err());
    till.check();
}

#[test]
fn a_call_that_was_counted_under_a_looser_rate_is_refused() {
    let mut till = Till::with("100");
    let rate = |per_second| RateLimit {
        per_second,
        burst: 10,
    };
    let counted = |rate| NewJob {
        account_rate_limit: rate,
        ..new_job(amount("0.10"))
    };
    set(
        &mut till,
        AccountLimitsChange {
            rate_limit: Some(Some(rate(5))),
            ..AccountLimitsChange::default()
        },
    );
    for looser in [None, Some(rate(6))] {
        let refused = till.accept(counted(looser));
        assert!(matches!(refused, Err(AcceptError::RateLowered)));
    }
    till.accept(counted(Some(rate(5)))).expect("as counted");
}

#[test]
fn verification_reports_spending_that_differs_from_the_charges() {
    let mut till = Till::with("100");
    set(&mut till, spends(Some("5.00"), None));
    let job = till.running("0.10");
    till.apply(job, finish()).expect("finish");
    till.check();
    let sound = till.book.account().clone();
    let write = |account: &Account| {
        let place = [b"a", ACCOUNT.as_bytes().as_slice()].concat();
        let writes = vec![(place, Some(encode(account)))];
        commit_and_wait(&**till.store.engine(), writes).expect("commit");
    };
    let faults = |change: &dyn Fn(&mut Account)| {
        let mut account = sound.clone();
        change(&mut account);
        write(&account);
        till.faults()
    };
    // Charges of a later month only.
    let earlier = Spending::of_days([(till.now / DAY + 40, amount("0.10"))]);
    assert_eq!(
        faults(&|it| it.spending = earlier.ok()),
        [format!(
            "account {ACCOUNT} has spent 0.10 a month (UTC) by its record, 0.00 to 0.10 by its charges"
        )]
    );
    assert_eq!(
        faults(&|it| it.spending = Some(Spending::default())),
        [format!(
            "account {ACCOUNT} has spent 0.00 in all by its record, 0.10 by its charges"
        )]
    );
    let uncounted = [format!(
        "account {ACCOUNT}: its spending has a limit and is not counted, or is counted without one"
    )];
    assert_eq!(faults(&|it| it.spending = None), uncounted);
    assert_eq!(
        faults(&|it| it.limits = AccountLimits::default()),
        uncounted
    );
    write(&sound);
    assert_eq!(till.faults(), Vec::<String>::new());
    let stored = till.store.account(ACCOUNT).wait().expect("read");
    assert_eq!(stored, Some(sound));
}
