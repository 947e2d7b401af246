//! The limit of open file descriptors, and the share of it that webhook deliveries may use.

use rlimit::{Resource, increase_nofile_limit};

/// More than the listener's limits and all other parts can use together.
const WANTED: u64 = 65_536;
/// Concurrent delivery attempts over all receivers. A hanging receiver occupies its slot until the attempt times out: with 2,048
/// slots, a thousand receivers that begin to hang leave enough for the others.
const MAX_ATTEMPTS: u64 = 2_048;
const MIN_ATTEMPTS: u64 = 64;

/// Raises the soft limit, 1,024 on many systems, up to the hard limit. A system may refuse, so callers read the limit again.
pub fn raise() {
    match increase_nofile_limit(WANTED) {
        Ok(limit) => tracing::debug!(limit, "raised the limit of open files"),
        Err(error) => tracing::warn!(%error, "could not raise the limit of open files"),
    }
}

/// The limit of concurrent delivery attempts: at most a quarter of all file descriptors, so that callers can still connect.
pub fn max_delivery_attempts() -> usize {
    let limit = Resource::NOFILE.get_soft().unwrap_or(0);
    let attempts = (limit / 4).clamp(MIN_ATTEMPTS, MAX_ATTEMPTS);
    usize::try_from(attempts).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_attempts_are_limited_to_a_quarter_of_the_descriptors() {
        raise();
        let (soft, hard) = Resource::NOFILE.get().unwrap();
        assert_eq!(soft, hard.min(WANTED).max(soft));
        let attempts = max_delivery_attempts() as u64;
        assert!(attempts <= soft / 4 || attempts == MIN_ATTEMPTS);
        assert!((MIN_ATTEMPTS..=MAX_ATTEMPTS).contains(&attempts));
    }
}
