//! Passwords: argon2id, on the blocking pool, a few at a time, fair between addresses.

use super::auth_throttle::network;
use super::call_origin::CallOrigin;
use super::error::{self, Error, ErrorKind};
use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use tintype_fair_semaphore::FairSemaphore;
use tokio::task::spawn_blocking;

/// Hashes that are computed at a time: each takes 19 MiB and some tens of milliseconds.
const AT_A_TIME: u64 = 2;
/// Of these for one network, so that a guesser leaves room for others.
const AT_A_TIME_OF_ONE: u64 = 1;
const SALT_BYTES: usize = 16;
/// Characters that a password must have. Length is what makes one strong (NIST SP 800-63B, section 5.1.1.2).
pub const MIN_CHARS: usize = 10;
/// Characters that a password may have.
pub const MAX_CHARS: usize = 200;

/// Computes and checks hashes.
pub struct Passwords {
    permits: FairSemaphore<Option<[u8; 16]>>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            permits: FairSemaphore::new(AT_A_TIME, AT_A_TIME_OF_ONE),
        }
    }
}

fn faulty() -> Error {
    let detail = "the password could not be hashed; try again";
    Error::new(ErrorKind::Internal, detail)
}

fn hash(password: &[u8]) -> Result<String, Error> {
    let salt = SaltString::encode_b64(&rand::random::<[u8; SALT_BYTES]>()).map_err(|_| faulty())?;
    let hash = Argon2::default().hash_password(password, &salt);
    Ok(hash.map_err(|_| faulty())?.to_string())
}

fn verify(password: &[u8], hash: Option<&str>) -> Result<bool, Error> {
    match hash.map(PasswordHash::new) {
        Some(Ok(hash)) => Ok(Argon2::default().verify_password(password, &hash).is_ok()),
        // As long as for somebody who exists: the time says nothing about who does.
        _ => self::hash(password).map(|_| false),
    }
}

impl Passwords {
    /// The hash to keep of a new password (a PHC string).
    pub async fn hash(&self, from: &CallOrigin, password: String) -> Result<String, Error> {
        let work = move || hash(password.as_bytes());
        self.compute(from, work).await
    }

    /// Is this the password of that hash? Takes as long where there is none.
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
        let permit = self.permits.acquire(from.caller().map(network), 1).await;
        let done = spawn_blocking(move || {
            // Given back by the work itself: a caller that goes away does not end it.
            let _permit = permit;
            work()
        });
        done.await.map_err(|_| error::busy())?
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
    fn only_the_password_itself_verifies_and_no_hash_refuses_all() {
        let kept = hash(b"correct horse").unwrap();
        assert!(
            kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{kept}"
        );
        assert_ne!(kept, hash(b"correct horse").unwrap());
        assert!(verify(b"correct horse", Some(&kept)).unwrap());
        assert!(!verify(b"correct horsf", Some(&kept)).unwrap());
        assert!(!verify(b"correct horse", None).unwrap());
        assert!(!verify(b"correct horse", Some("damaged")).unwrap());
    }
}
