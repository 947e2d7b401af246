//! Exponential backoff with jitter between attempts.

use std::time::Duration;

const INITIAL_DELAY: Duration = Duration::from_millis(500);
/// The longest wait unless a backend asks for more.
pub const MAX_DELAY: Duration = Duration::from_secs(30);

/// The wait before repeat `number`, counted from 1. It doubles from half a second to half a minute.
///
/// `jitter`, between 0 and 1, places the wait between half and the whole of the doubled time, so that jobs that failed together do not
/// repeat together. The wait is never shorter than `retry_after`.
pub fn delay(number: u32, retry_after: Option<Duration>, jitter: f64) -> Duration {
    let doubled = INITIAL_DELAY
        .saturating_mul(2u32.saturating_pow(number.saturating_sub(1)))
        .min(MAX_DELAY);
    let spread = doubled.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
    retry_after.map_or(spread, |asked| asked.max(spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_with_jitter_and_respects_retry_after() {
        let millis = |number, after: Option<u64>, jitter| {
            delay(number, after.map(Duration::from_secs), jitter).as_millis()
        };
        assert_eq!(
            [
                millis(1, None, 1.0),
                millis(2, None, 1.0),
                millis(3, None, 1.0)
            ],
            [500, 1_000, 2_000]
        );
        assert_eq!(millis(1, None, 0.0), 250);
        assert_eq!(millis(40, None, 1.0), 30_000);
        assert_eq!(millis(1, Some(7), 0.5), 7_000);
        assert_eq!(millis(9, Some(1), 1.0), 30_000);
        assert_eq!(millis(1, Some(86_400), 0.0), 86_400_000);
    }
}
