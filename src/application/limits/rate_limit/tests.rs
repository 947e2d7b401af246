//! The limiters with a manual clock.

use super::*;
use actix_web::http::header::HeaderMap;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::time::Timestamp;
use uuid::Uuid;

fn key(id: u128, rate_limit: Option<RateLimit>) -> ApiKey {
    ApiKey {
        rate_limit,
        ..ApiKey::with_all_rights(
            KeyId(Uuid::from_u128(id)),
            AccountId(Uuid::nil()),
            Timestamp::from_millis(0),
        )
    }
}

fn limit(per_second: u32, burst: u32) -> Option<RateLimit> {
    Some(RateLimit { per_second, burst })
}

struct Bench {
    rates: Rates,
    millis: Arc<AtomicU64>,
}

impl Bench {
    fn new(default: Option<RateLimit>) -> Self {
        let millis = Arc::new(AtomicU64::new(0));
        let shown = Arc::clone(&millis);
        let elapsed = Arc::new(move || Duration::from_millis(shown.load(Ordering::Relaxed)));
        Self {
            rates: Rates::new(default, elapsed),
            millis,
        }
    }

    fn advance(&self, millis: u64) {
        self.millis.fetch_add(millis, Ordering::Relaxed);
    }

    fn admitted(&self, key: &ApiKey, calls: usize) -> usize {
        let count = || self.rates.count(key).is_none_or(|it| it.refused.is_none());
        (0..calls).filter(|_| count()).count()
    }

    fn limiter_count(&self) -> usize {
        self.rates.limiters.table.read().limiters.len()
    }
}

fn key_headers(rate: RateState) -> [String; 2] {
    headers(&RateStates {
        key: Some(rate),
        account: None,
    })
}

fn headers(counted: &RateStates) -> [String; 2] {
    let mut headers = HeaderMap::new();
    crate::web::auth::rate_headers::write(counted, &mut headers);
    ["ratelimit-policy", "ratelimit"]
        .map(|name| headers.get(name).unwrap().to_str().unwrap().to_owned())
}

#[test]
fn a_key_gets_its_burst_and_then_the_sustained_rate() {
    let bench = Bench::new(None);
    let limited = key(1, limit(5, 10));
    assert_eq!(bench.admitted(&limited, 30), 10);
    bench.advance(199);
    assert_eq!(bench.admitted(&limited, 5), 0);
    bench.advance(1);
    assert_eq!(bench.admitted(&limited, 5), 1);
    bench.advance(1_000);
    assert_eq!(bench.admitted(&limited, 30), 5);
    bench.advance(3_600_000);
    assert_eq!(
        bench.admitted(&limited, 30),
        10,
        "never more than the burst"
    );
}

#[test]
fn a_key_without_a_limit_is_not_counted_and_has_no_limiter() {
    let bench = Bench::new(None);
    assert_eq!(bench.rates.count(&key(1, None)), None);
    assert_eq!(bench.limiter_count(), 0);
}

#[test]
fn the_default_applies_to_keys_without_their_own_limit() {
    let bench = Bench::new(limit(1, 2));
    assert_eq!(bench.admitted(&key(1, None), 9), 2);
    assert_eq!(bench.admitted(&key(2, limit(1, 5)), 9), 5);
    assert_eq!(bench.admitted(&key(3, None), 9), 2, "each key separately");
}

#[test]
fn a_changed_limit_applies_at_once() {
    let bench = Bench::new(None);
    assert_eq!(bench.admitted(&key(1, limit(1, 2)), 9), 2);
    assert_eq!(bench.admitted(&key(1, limit(1, 4)), 9), 4);
    assert_eq!(bench.limiter_count(), 1);
}

#[test]
fn the_headers_report_the_remaining_calls_and_the_reset_time() {
    let bench = Bench::new(None);
    let limited = key(1, limit(2, 5));
    let first = bench.rates.count(&limited).unwrap();
    assert_eq!(key_headers(first), ["\"key\";q=5;w=3", "\"key\";r=4;t=1"]);
    bench.admitted(&limited, 3);
    let last = bench.rates.count(&limited).unwrap();
    assert_eq!(key_headers(last), ["\"key\";q=5;w=3", "\"key\";r=0;t=3"]);
    assert!(last.admit().is_ok());
    let refused = bench.rates.count(&limited).unwrap();
    assert_eq!(key_headers(refused)[1], "\"key\";r=0;t=1");
    assert_eq!(refused.admit().unwrap_err().retry_after, Some(1));
}

#[test]
fn every_valid_limit_is_enforced() {
    for (per_second, burst) in [
        (1, 1),
        (1, 1_000_000),
        (1_000_000, 1),
        (1_000_000, 1_000_000),
    ] {
        let bench = Bench::new(limit(per_second, burst));
        assert!(bench.rates.count(&key(1, None)).unwrap().admit().is_ok());
        assert!(bench.admitted(&key(1, None), 10) < burst as usize);
    }
}

#[test]
fn limiters_of_idle_keys_are_dropped() {
    let bench = Bench::new(limit(1, 10));
    for id in 0..MIN_SWEEP_SIZE as u128 {
        bench.rates.count(&key(id, None));
    }
    bench.advance(5_000);
    bench.admitted(&key(0, None), 20);
    bench.advance(5_001);
    // One more than the sweep size: the sweep drops all but the key that called again.
    bench.rates.count(&key(u128::MAX, None));
    assert_eq!(bench.limiter_count(), 2);
    assert_eq!(
        bench.admitted(&key(0, None), 20),
        5,
        "and its count is kept"
    );
}

#[test]
fn a_call_counts_against_its_account_unless_the_limit_of_its_key_rejects_it() {
    let bench = Bench::new(None);
    let limiters = Limiters::new(Arc::clone(&bench.rates.limiters.elapsed));
    let account = AccountId(Uuid::from_u128(9));
    let keys = [1, 2].map(|number| key(number, limit(1, 2)));
    let call = |key: &ApiKey| {
        let of_key = bench.rates.count(key);
        RateStates::new(of_key, account, limit(1, 3), &limiters)
    };
    let first = call(&keys[0]);
    assert_eq!(
        headers(&first),
        [
            r#""key";q=2;w=2, "account";q=3;w=3"#,
            r#""key";r=1;t=1, "account";r=2;t=1"#
        ]
    );
    assert!(call(&keys[0]).admit().is_ok());
    for _ in 0..5 {
        let refused = call(&keys[0]);
        assert!(refused.admit().is_err() && refused.account.is_none());
    }
    assert!(call(&keys[1]).admit().is_ok(), "the third of the account");
    let refused = call(&keys[1]);
    assert_eq!(refused.key.map(|it| it.refused), Some(None));
    let error = refused.admit().unwrap_err();
    assert_eq!(
        error.detail,
        "this account may make 1 request per second, and up to 3 at once after a pause; try again in 1 second"
    );
    assert_eq!(error.retry_after, Some(1));
    let unlimited = RateStates::new(None, account, None, &limiters);
    assert!(unlimited.admit().is_ok() && unlimited.account.is_none());
}
