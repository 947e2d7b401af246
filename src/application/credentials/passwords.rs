//! Password hashing: argon2id on the blocking pool, few at a time, fair between networks.

use super::auth_throttle::network;
use crate::application::blocking::blocking;
use crate::application::core::call_origin::CallOrigin;
use crate::application::error::{Error, ErrorKind};
use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use std::net::IpAddr;
use std::thread::available_parallelism;
use tintype_fair_semaphore::FairSemaphore;

/// Concurrent hashes at most. Each takes 19 MiB and some tens of milliseconds.
const MAX_CONCURRENT: u64 = 8;
/// Concurrent hashes of one network, so that an attacker cannot block others.
const MAX_CONCURRENT_PER_NETWORK: u64 = 1;
/// Of IPv6 the /48 is one network: a provider assigns up to that much to a customer, who could wait in 65,536 networks of a /64.
const SITE_BYTES: usize = 6;
const SALT_BYTES: usize = 16;
/// Length is what makes a password strong (NIST SP 800-63B, section 5.1.1.2).
pub const MIN_CHARS: usize = 10;
pub const MAX_CHARS: usize = 200;

pub struct Passwords {
    permits: FairSemaphore<Option<[u8; 16]>>,
}

impl Default for Passwords {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        let permits = FairSemaphore::new(concurrent(processors), MAX_CONCURRENT_PER_NETWORK);
        Self { permits }
    }
}

/// Half of the processors stay free for all other work.
fn concurrent(processors: usize) -> u64 {
    (processors as u64 / 2).clamp(1, MAX_CONCURRENT)
}

/// Callers that wait for a hash are served round robin by this key.
fn queue_key(caller: Option<IpAddr>) -> Option<[u8; 16]> {
    caller.map(|address| network(address, SITE_BYTES))
}

fn hash_failed() -> Error {
    let detail = "the service could not hash the password; try again";
    Error::new(ErrorKind::Internal, detail)
}

fn hash(password: &[u8]) -> Result<String, Error> {
    let salt =
        SaltString::encode_b64(&rand::random::<[u8; SALT_BYTES]>()).map_err(|_| hash_failed())?;
    let hash = Argon2::default().hash_password(password, &salt);
    Ok(hash.map_err(|_| hash_failed())?.to_string())
}

fn verify(password: &[u8], hash: Option<&str>) -> Result<bool, Error> {
    match hash.map(PasswordHash::new) {
        Some(Ok(hash)) => Ok(Argon2::default().verify_password(password, &hash).is_ok()),
        // Hash anyway, so that the response time does not reveal whether the person exists.
        _ => self::hash(password).map(|_| false),
    }
}

impl Passwords {
    /// Hashes a new password (a PHC string).
    pub async fn hash(&self, from: &CallOrigin, password: String) -> Result<String, Error> {
        let work = move || hash(password.as_bytes());
        self.compute(from, work).await
    }

    /// Takes the same time without a hash.
    pub async fn verify(
        &self,
        from: &CallOrigin,
        password: String,
        hash: Option<String>,
    ) -> Result<bool, Error> {
        if password.chars().count() > MAX_CHARS {
            return Ok(false);
        }
        let work = move || verify(password.as_bytes(), hash.as_deref());
        self.compute(from, work).await
    }

    async fn compute<T: Send + 'static>(
        &self,
        from: &CallOrigin,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.permits.acquire(queue_key(from.caller()), 1).await;
        blocking(move || {
            // The work itself releases the permit, because it continues after a disconnect.
            let _permit = permit;
            work()
        })
        .await
    }
}

/// Refuses a new password that is too short or too long.
pub fn check_new(password: &str) -> Result<(), Error> {
    let chars = password.chars().count();
    if (MIN_CHARS..=MAX_CHARS).contains(&chars) {
        return Ok(());
    }
    let fault = format!("has {chars} characters; choose {MIN_CHARS} to {MAX_CHARS}");
    Err(Error::field("password", fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_password_verifies_and_a_missing_hash_refuses_all() {
        let stored = hash(b"correct horse").unwrap();
        assert!(
            stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{stored}"
        );
        assert_ne!(stored, hash(b"correct horse").unwrap());
        assert!(verify(b"correct horse", Some(&stored)).unwrap());
        assert!(!verify(b"correct horsf", Some(&stored)).unwrap());
        assert!(!verify(b"correct horse", None).unwrap());
        assert!(!verify(b"correct horse", Some("damaged")).unwrap());
    }

    #[test]
    fn an_ipv6_site_waits_in_one_line_and_an_ipv4_address_in_its_own() {
        let key = |address: &str| queue_key(Some(address.parse().unwrap()));
        assert_eq!(key("2001:db8:1:1::1"), key("2001:db8:1:ffff::2"));
        assert_ne!(key("2001:db8:1:1::1"), key("2001:db8:2:1::1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
    }

    #[test]
    fn hashes_leave_processors_to_other_work() {
        assert_eq!([1, 2, 4, 64].map(concurrent), [1, 1, 2, 8]);
    }
}
