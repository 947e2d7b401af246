//! How many files and connections the process may have open, and what of that goes to deliveries.

use rlimit::{Resource, increase_nofile_limit};

/// As many as the listener's own bounds and everything beside it may ever want.
const WANTED: u64 = 65_536;
/// Attempts of deliveries under way at a time, over all receivers, where the system allows. Each is a connection, and one that
/// hangs holds its place for as long as an attempt may take: with two thousand places a thousand receivers that hang, and
/// that nobody knows of yet, leave enough of them.
const MAX_ATTEMPTS: u64 = 2_048;
const MIN_ATTEMPTS: u64 = 64;

/// Raises the soft limit, which many systems leave at 1,024, as far as the hard one goes. A system that refuses leaves it as
/// it is; what follows from the limit is asked for where it is needed.
pub fn raise() {
    match increase_nofile_limit(WANTED) {
        Ok(limit) => tracing::debug!(limit, "files and connections that may be open"),
        Err(error) => tracing::warn!(%error, "the limit of open files stays as it is"),
    }
}

/// Attempts that may be under way at a time: no more than a quarter of what may be open, so that callers are let in beside
/// them.
pub fn attempts() -> usize {
    let limit = Resource::NOFILE.get_soft().unwrap_or(0);
    let attempts = (limit / 4).clamp(MIN_ATTEMPTS, MAX_ATTEMPTS);
    usize::try_from(attempts).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_leave_descriptors_to_others() {
        raise();
        let (soft, hard) = Resource::NOFILE.get().unwrap();
        assert_eq!(soft, hard.min(WANTED).max(soft));
        let attempts = attempts() as u64;
        assert!(attempts <= soft / 4 || attempts == MIN_ATTEMPTS);
        assert!((MIN_ATTEMPTS..=MAX_ATTEMPTS).contains(&attempts));
    }
}
