//! Which failures are delayed, in which order, and which are evicted.

use super::*;
use futures_util::FutureExt as _;
use tokio::time::Instant;

fn from(address: impl Into<IpAddr>) -> CallOrigin {
    CallOrigin {
        address: Some(address.into()),
        ..CallOrigin::default()
    }
}

/// A throttle on tokio's paused clock, which advances only while a test waits.
fn throttle() -> (AuthThrottle, watch::Sender<bool>) {
    let start = Instant::now();
    let elapsed: Elapsed = Arc::new(move || start.elapsed());
    (AuthThrottle::new(elapsed), watch::Sender::new(false))
}

async fn fail(throttle: &AuthThrottle, from: &CallOrigin, email: Option<&Email>) {
    let stopping = watch::Sender::new(false);
    throttle
        .record_failure("sign-in", from, email, &stopping)
        .await;
}

#[tokio::test(start_paused = true)]
async fn after_ten_failures_rejections_of_one_network_are_delayed_one_after_another() {
    let (throttle, _) = throttle();
    let host = |last: u16| from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]);
    let began = Instant::now();
    for last in 0..10 {
        fail(&throttle, &host(last), None).await;
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    let (first, second) = (host(10), host(11));
    tokio::join!(
        fail(&throttle, &first, None),
        fail(&throttle, &second, None)
    );
    assert_eq!(began.elapsed(), DELAY * 2);
    let elsewhere = from([0x2001, 0xdb8, 0, 2, 0, 0, 0, 1]);
    fail(&throttle, &elsewhere, None).await;
    assert_eq!(began.elapsed(), DELAY * 2);
    tokio::time::advance(WINDOW).await;
    let began = Instant::now();
    fail(&throttle, &host(1), None).await;
    assert_eq!(began.elapsed(), Duration::ZERO, "the window has ended");
}

#[tokio::test(start_paused = true)]
async fn failures_for_one_email_address_are_delayed_from_any_network() {
    let (throttle, _) = throttle();
    let ada: Email = "ada@example.com".parse().unwrap();
    let began = Instant::now();
    for host in 0..10 {
        fail(&throttle, &from([192, 0, 2, host]), Some(&ada)).await;
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    fail(&throttle, &from([192, 0, 2, 99]), Some(&ada)).await;
    assert_eq!(began.elapsed(), DELAY);
    let bob: Email = "bob@example.com".parse().unwrap();
    fail(&throttle, &from([192, 0, 2, 99]), Some(&bob)).await;
    assert_eq!(began.elapsed(), DELAY);
}

#[tokio::test(start_paused = true)]
async fn a_disconnect_frees_the_next_refusal_and_shutdown_ends_all_delays() {
    let (throttle, stopping) = throttle();
    let origin = from([192, 0, 2, 1]);
    for _ in 0..10 {
        fail(&throttle, &origin, None).await;
    }
    let wait = || {
        let failed = throttle.record_failure("sign-in", &origin, None, &stopping);
        Box::pin(failed)
    };
    let (mut left, mut stays) = (wait(), wait());
    assert!(left.as_mut().now_or_never().is_none());
    assert!(stays.as_mut().now_or_never().is_none());
    drop(left);
    let began = Instant::now();
    stays.await;
    assert_eq!(began.elapsed(), DELAY);
    let mut last = wait();
    assert!(last.as_mut().now_or_never().is_none());
    stopping.send_replace(true);
    last.await;
    assert_eq!(began.elapsed(), DELAY);
}

#[test]
fn a_full_table_evicts_the_source_with_the_oldest_failure() {
    let mut table = Table::default();
    let host =
        |number: u32| Source::Network(network(IpAddr::from(number.to_be_bytes()), HOST_BYTES));
    let now = Duration::ZERO;
    for number in 0..CAPACITY as u32 {
        assert_eq!(table.count(host(number), now).count, 1);
    }
    assert_eq!(table.count(host(0), now).count, 2);
    assert_eq!(table.count(host(u32::MAX), now).count, 1);
    assert_eq!(table.sources.len(), CAPACITY);
    assert_eq!(table.by_age.len(), CAPACITY);
    assert_eq!(table.count(host(0), now).count, 3, "it was not the oldest");
    assert_eq!(table.count(host(1), now).count, 1, "it was");
}

#[test]
fn a_source_is_logged_once_a_second() {
    let mut table = Table::default();
    let lines = (0..2_500).filter(|milli| {
        let counted = table.count(Source::Unknown, Duration::from_millis(*milli));
        counted.is_logged
    });
    assert_eq!(lines.collect::<Vec<_>>(), [0, 1_000, 2_000]);
}
