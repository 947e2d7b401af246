//! Verification finds each kind of fault, and none in a sound store.

use crate::support::*;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::{AccountId, JobId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent, JobState};
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry};
use tintype_storage::domain::spending::Spending;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Key, commit_and_wait};
use tintype_storage::store::AccountState;
use tintype_storage::store::tables::{ACCOUNTS, LEDGER};
use tintype_storage::verify::{MAX_FAULTS, verify};

/// A sound store: a done job of 0.10; a failed, a queued and a running one of 0.20 each; and a key.
struct Sound {
    till: Till,
    done: Job,
    failed: Job,
    queued: Job,
    charge: LedgerEntry,
}

impl Sound {
    fn new() -> Self {
        let mut till = Till::with("5");
        let mut accept = |price: &str| till.accept(new_job(amount(price))).expect("accept").job;
        let [done, failed, queued, running] = ["0.10", "0.20", "0.20", "0.20"].map(&mut accept);
        for job in [done, failed, running] {
            till.apply(job, begin()).expect("begin");
        }
        let done = till.apply(done, finish()).expect("finish");
        let failed = till.apply(failed, fail()).expect("fail");
        let writes = till.store.put_key(&KeyHash([7; 32]), &api_key());
        commit_and_wait(&**till.store.engine(), writes).expect("commit");
        let queued = till
            .store
            .job(ACCOUNT, queued)
            .wait()
            .expect("read")
            .expect("job");
        let newest = LEDGER.page(&till.store, &ACCOUNT, 1, None).wait();
        let charge = newest.expect("ledger").items[0].clone();
        assert_eq!(charge.kind, EntryKind::Charge);
        Self {
            till,
            done,
            failed,
            queued,
            charge,
        }
    }

    fn put<R: serde::Serialize>(&self, key: Key, record: &R) {
        self.write(key, Some(encode(record)));
    }

    fn write(&self, key: Key, value: Option<Vec<u8>>) {
        commit_and_wait(&**self.till.store.engine(), vec![(key, value)]).expect("commit");
    }

    fn account(&self, change: impl FnOnce(&mut Account)) {
        let mut account = self.till.book.account().clone();
        change(&mut account);
        self.put(filed('a', &[ACCOUNT.as_bytes()]), &account);
    }

    fn entry(&self, change: impl FnOnce(&mut LedgerEntry)) {
        let mut entry = self.charge.clone();
        change(&mut entry);
        self.put(entry_key(entry.id), &entry);
    }

    /// Expects exactly these faults, in any order.
    fn finds(&self, expected: &[&str]) {
        let mut faults = self.till.faults();
        faults.sort();
        let mut expected: Vec<String> = expected
            .iter()
            .map(|text| {
                text.replace("ACCOUNT", &format!("account {ACCOUNT}"))
                    .replace("DONE", &self.done.id.to_string())
                    .replace("QUEUED", &self.queued.id.to_string())
                    .replace("FAILED", &self.failed.id.to_string())
                    .replace("CHARGE", &self.charge.id.to_string())
            })
            .collect();
        expected.sort();
        assert_eq!(faults, expected);
    }
}

fn api_key() -> ApiKey {
    ApiKey {
        name: "k".into(),
        ..ApiKey::with_all_rights(key(1), ACCOUNT, at(0))
    }
}

/// A store key, written out, because keys are part of the format.
fn filed(kind: char, parts: &[&[u8]]) -> Key {
    [&[kind as u8], parts.concat().as_slice()].concat()
}

fn live(job: JobId) -> Key {
    filed('l', &[ACCOUNT.as_bytes(), job.as_bytes()])
}

fn ended(job: JobId) -> Key {
    filed('e', &[ACCOUNT.as_bytes(), job.as_bytes()])
}

fn entry_key(id: TransactionId) -> Key {
    filed('t', &[ACCOUNT.as_bytes(), id.as_bytes()])
}

#[test]
fn a_sound_store_has_no_fault() {
    let sound = Sound::new();
    let mut visited = Vec::new();
    let report = verify(&sound.till.store, |job| visited.push(job.id)).expect("audit");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(
        (
            report.accounts,
            report.live_jobs,
            report.ended_jobs,
            report.entries
        ),
        (1, 2, 2, 2)
    );
    assert_eq!(visited.len(), 4);
    assert!(visited.contains(&sound.done.id));
}

#[test]
fn a_reserved_amount_above_the_balance_is_reported() {
    let sound = Sound::new();
    sound.account(|account| account.balances.reserved = amount("5"));
    sound.finds(&[
        "ACCOUNT: reserved 5.00 is not between 0 and balance 4.90",
        "ACCOUNT: reserved is 5.00, the holds of its live jobs are 0.40",
    ]);
}

#[test]
fn a_negative_reserved_amount_is_reported() {
    let sound = Sound::new();
    sound.account(|account| account.balances.reserved = amount("-0.1"));
    sound.finds(&[
        "ACCOUNT: reserved -0.10 is not between 0 and balance 4.90",
        "ACCOUNT: reserved is -0.10, the holds of its live jobs are 0.40",
    ]);
}

#[test]
fn a_hold_without_a_job_and_a_job_without_a_hold_are_reported() {
    let sound = Sound::new();
    sound.write(live(sound.queued.id), None);
    sound.finds(&["ACCOUNT: reserved is 0.40, the holds of its live jobs are 0.20"]);
    let sound = Sound::new();
    let more = Job {
        id: JobId(uuid(5)),
        price: amount("0.000001"),
        ..sound.queued.clone()
    };
    sound.put(live(more.id), &more);
    sound.finds(&["ACCOUNT: reserved is 0.40, the holds of its live jobs are 0.400001"]);
}

#[test]
fn an_account_whose_reserved_amount_does_not_match_its_jobs_is_not_loaded() {
    let sound = Sound::new();
    sound.write(live(sound.queued.id), None);
    let store = &sound.till.store;
    let account = store
        .account(ACCOUNT)
        .wait()
        .expect("read")
        .expect("account");
    let refused = AccountState::load(store, account)
        .wait()
        .expect_err("a fault");
    assert_eq!(
        refused.to_string(),
        format!(
            "the ledger of account {ACCOUNT} is inconsistent: \
             reserved is 0.40, the holds of its live jobs are 0.20; run `tintype verify`"
        )
    );
}

#[test]
fn a_balance_that_differs_from_its_entries_is_reported() {
    let sound = Sound::new();
    sound.account(|account| {
        account.balances.balance = amount("5.90");
        account.balances.deposited = amount("6");
    });
    sound.finds(&["ACCOUNT: balance is 5.90, its entries give 4.90"]);
}

#[test]
fn a_sum_of_deposits_that_is_wrong_is_reported() {
    let sound = Sound::new();
    sound.account(|account| account.balances.deposited = amount("6"));
    sound.finds(&["ACCOUNT: deposits 6.00 minus charges 0.10 do not equal balance 4.90"]);
}

#[test]
fn a_sum_of_charges_that_is_wrong_is_reported() {
    let sound = Sound::new();
    sound.account(|account| {
        account.balances.charged = amount("0.30");
        account.balances.deposited = amount("5.20");
    });
    sound.finds(&["ACCOUNT: charged is 0.30, its charges are 0.10, its done jobs cost 0.10"]);
}

#[test]
fn a_missing_ledger_entry_is_reported() {
    let sound = Sound::new();
    sound.write(entry_key(sound.charge.id), None);
    sound.finds(&[
        "ACCOUNT: job DONE is done but was not charged",
        "ACCOUNT: balance is 4.90, its entries give 5.00",
        "ACCOUNT: charged is 0.10, its charges are 0.00, its done jobs cost 0.10",
    ]);
}

#[test]
fn a_ledger_entry_with_a_wrong_balance_is_reported() {
    let sound = Sound::new();
    sound.entry(|entry| entry.balance_after = amount("4.80"));
    sound.finds(&["ACCOUNT: entry CHARGE says balance 4.80, the entries so far give 4.90"]);
}

#[test]
fn an_entry_with_a_wrong_sign_or_time_is_reported() {
    let sound = Sound::new();
    sound.entry(|entry| entry.created_at = at(1_000_001));
    sound.finds(&[
        "ACCOUNT: charge CHARGE of 1970-01-01T00:16:40.001Z is later than the end of its job at 1970-01-01T00:16:40.000Z",
    ]);
    for (kind, sum, name) in [
        (EntryKind::Deposit, "-1.00", "deposit"),
        (EntryKind::Adjustment, "1.00", "adjustment"),
    ] {
        let id = id_of(1_000_000);
        let mut till = Till::with("5");
        till.deposit(deposit(amount(sum))).expect("deposit");
        let newest = LEDGER.page(&till.store, &ACCOUNT, 1, None).wait();
        let entry = LedgerEntry {
            id: TransactionId(id),
            kind,
            created_at: at(1_000_001),
            ..newest.expect("ledger").items.remove(0)
        };
        let writes = vec![
            LEDGER.delete(&(ACCOUNT, TransactionId(uuid(1_001)))),
            LEDGER.put(&(ACCOUNT, entry.id), &entry),
        ];
        commit_and_wait(&**till.store.engine(), writes).expect("commit");
        assert_eq!(
            till.faults(),
            [
                format!(
                    "account {ACCOUNT}: entry {id} of 1970-01-01T00:16:40.001Z is later than its id"
                ),
                format!("account {ACCOUNT}: entry {id} is of kind {name}, but its amount is {sum}"),
            ]
        );
    }
}

#[test]
fn a_charge_of_another_price_is_reported() {
    let sound = Sound::new();
    sound.entry(|entry| {
        entry.amount = amount("-0.30");
        entry.balance_after = amount("4.70");
    });
    sound.finds(&[
        "ACCOUNT: charge CHARGE does not belong to exactly one done job of that price",
        "ACCOUNT: balance is 4.90, its entries give 4.70",
        "ACCOUNT: charged is 0.10, its charges are 0.30, its done jobs cost 0.10",
    ]);
}

#[test]
fn a_second_charge_for_a_job_is_reported() {
    let sound = Sound::new();
    let again = TransactionId(uuid(u128::MAX));
    sound.entry(|entry| {
        entry.id = again;
        entry.balance_after = amount("4.80");
    });
    sound.finds(&[
        &format!("ACCOUNT: charge {again} does not belong to exactly one done job of that price"),
        "ACCOUNT: balance is 4.90, its entries give 4.80",
        "ACCOUNT: charged is 0.10, its charges are 0.20, its done jobs cost 0.10",
    ]);
}

#[test]
fn a_charge_for_a_failed_job_or_for_none_is_reported() {
    for other in [true, false] {
        let sound = Sound::new();
        sound.entry(|entry| entry.job = other.then_some(sound.failed.id));
        sound.finds(&[
            "ACCOUNT: charge CHARGE does not belong to exactly one done job of that price",
            "ACCOUNT: job DONE is done but was not charged",
        ]);
    }
}

#[test]
fn a_missing_done_job_is_reported() {
    let sound = Sound::new();
    sound.write(ended(sound.done.id), None);
    sound.finds(&[
        "ACCOUNT: charge CHARGE does not belong to exactly one done job of that price",
        "ACCOUNT: charged is 0.10, its charges are 0.10, its done jobs cost 0.00",
        &format!(
            "key {} has spent 0.10 by its record, 0.00 by its jobs",
            key(1)
        ),
        &format!(
            "the usage of key {} on day 0 says 1 done, 1 failed, 0.10 spent; by its jobs it is 0, 1 and 0.00",
            key(1)
        ),
    ]);
}

#[test]
fn a_job_that_is_both_live_and_ended_is_reported() {
    let sound = Sound::new();
    sound.put(live(sound.done.id), &sound.done);
    sound.finds(&[
        "job DONE is done but still among the live ones",
        "job DONE is both live and ended",
        "ACCOUNT: reserved is 0.40, the holds of its live jobs are 0.50",
    ]);
}

#[test]
fn a_live_job_among_the_ended_jobs_is_reported() {
    let sound = Sound::new();
    sound.put(ended(sound.queued.id), &sound.queued);
    sound.write(live(sound.queued.id), None);
    sound.finds(&[
        "job QUEUED is queued but among the ended ones",
        "ACCOUNT: reserved is 0.40, the holds of its live jobs are 0.20",
    ]);
}

#[test]
fn verification_checks_the_spending_of_keys() {
    let sound = Sound::new();
    let spent = filed('u', &[key(1).as_bytes()]);
    let too_much = Spending::default().charge(amount("0.11"), at(0));
    sound.put(spent.clone(), &too_much.expect("spending"));
    let sentence = |spent| {
        format!(
            "key {} has spent {spent} by its record, 0.10 by its jobs",
            key(1)
        )
    };
    sound.finds(&[&sentence("0.11")]);
    sound.write(spent, None);
    sound.finds(&[&sentence("0.00")]);
}

#[test]
fn the_spending_of_an_account_is_compared_with_the_charges_of_each_day() {
    let mut till = Till::with("5");
    let day = 86_400_000;
    till.now = 70 * day;
    let job = till.running("0.10");
    till.apply(job, finish()).expect("finish");
    let faults = |charges: &[(&str, i64)]| {
        let charges = charges.iter();
        let spending = charges.fold(Spending::default(), |spent, (price, day_number)| {
            let moment = at(day_number * day);
            spent.charge(amount(price), moment).expect("spending")
        });
        let mut account = till.book.account().clone();
        account.limits.spend_per_month = Some(amount("5"));
        account.spending = Some(spending);
        let writes = vec![ACCOUNTS.put(&ACCOUNT, &account)];
        commit_and_wait(&**till.store.engine(), writes).expect("commit");
        till.faults()
    };
    assert_eq!(faults(&[("0.10", 70)]), [""; 0]);
    // The same total, of which a part is recorded in the month before.
    assert_eq!(
        faults(&[("0.04", 40), ("0.06", 70)]),
        [format!(
            "account {ACCOUNT} has spent 0.06 a month (UTC) by its record, 0.10 to 0.10 by its charges"
        )]
    );
}

#[test]
fn jobs_entries_and_keys_of_no_account_are_reported() {
    let other = AccountId(uuid(0xdead));
    let orphaned =
        format!("there are jobs or ledger entries of account {other}, which does not exist");
    let sound = Sound::new();
    let job = Job {
        account: other,
        ..sound.queued.clone()
    };
    let key_of_job = filed('l', &[other.as_bytes(), job.id.as_bytes()]);
    sound.put(key_of_job.clone(), &job);
    sound.finds(&[&orphaned]);
    sound.write(key_of_job, None);
    let entry = LedgerEntry {
        kind: EntryKind::Deposit,
        amount: amount("1"),
        balance_after: amount("1"),
        job: None,
        ..sound.charge.clone()
    };
    sound.put(filed('t', &[other.as_bytes(), entry.id.as_bytes()]), &entry);
    sound.finds(&[&orphaned]);
    let sound = Sound::new();
    let stray = ApiKey {
        id: key(2),
        account: other,
        ..api_key()
    };
    let writes = sound.till.store.put_key(&KeyHash([8; 32]), &stray);
    commit_and_wait(&**sound.till.store.engine(), writes).expect("commit");
    sound.finds(&[&format!(
        "key {} is of account {other}, which does not exist",
        key(2)
    )]);
}

#[test]
fn sums_beyond_all_bounds_are_a_fault_and_no_panic() {
    let sound = Sound::new();
    let most = amount("999999999999999.999999");
    for number in 0..2 {
        let job = Job {
            id: JobId(uuid(500 + number)),
            price: most,
            ..sound.queued.clone()
        };
        sound.put(live(job.id), &job);
    }
    let faults = sound.till.faults();
    assert!(
        faults.contains(&"a sum is out of range: must be below 1,000,000,000,000,000".to_owned()),
        "{faults:?}"
    );
}

#[test]
fn a_report_is_bounded() {
    let sound = Sound::new();
    for number in 0..MAX_FAULTS as u128 + 50 {
        let job = Job {
            id: JobId(uuid(10_000 + number)),
            price: Amount::ZERO,
            ..sound.queued.clone()
        };
        sound.put(ended(job.id), &job);
    }
    assert_eq!(sound.till.faults().len(), MAX_FAULTS);
}

#[test]
fn a_record_that_cannot_be_read_ends_the_audit_with_its_kind() {
    let sound = Sound::new();
    sound.write(live(sound.queued.id), Some(vec![0]));
    let error = verify(&sound.till.store, |_| {}).expect_err("damaged");
    assert_eq!(
        error.to_string(),
        "a damaged live_job record: version 0 is unknown; run `tintype verify` and restore a backup"
    );
    assert!(matches!(sound.failed.state, JobState::Failed { .. }));
    assert!(
        sound
            .till
            .store
            .job(ACCOUNT, sound.queued.id)
            .wait()
            .is_err()
    );
    let mut till = sound.till;
    assert!(till.apply(sound.queued.id, JobEvent::Cancel).is_err());
}
