//! Passwords: argon2id, on the blocking pool, a few at a time.

use crate::application::error;
use crate::web::problem::{Code, Problem};
use actix_web::web;
use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Hashes that are computed at a time: each takes 19 MiB and some tens of milliseconds.
const AT_A_TIME: usize = 2;
const SALT_BYTES: usize = 16;
/// Characters that a password must have. Length is what makes one strong (NIST SP 800-63B, section 5.1.1.2).
pub const MIN_CHARS: usize = 10;
/// Characters that a password may have.
pub const MAX_CHARS: usize = 200;

/// Computes and checks hashes.
pub struct Passwords {
    places: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }
}

fn faulty() -> Problem {
    Problem::new(
        Code::Internal,
        "the password could not be hashed; try again",
    )
}

fn hash(password: &[u8]) -> Result<String, Problem> {
    let salt = SaltString::encode_b64(&rand::random::<[u8; SALT_BYTES]>()).map_err(|_| faulty())?;
    let hash = Argon2::default().hash_password(password, &salt);
    Ok(hash.map_err(|_| faulty())?.to_string())
}

fn verify(password: &[u8], hash: Option<&str>) -> Result<bool, Problem> {
    match hash.map(PasswordHash::new) {
        Some(Ok(hash)) => Ok(Argon2::default().verify_password(password, &hash).is_ok()),
        // As long as for somebody who exists: the time says nothing about who does.
        _ => self::hash(password).map(|_| false),
    }
}

impl Passwords {
    /// The hash to keep of a new password (a PHC string).
    pub async fn hash(&self, password: String) -> Result<String, Problem> {
        self.compute(move || hash(password.as_bytes())).await
    }

    /// Is this the password of that hash? Takes as long where there is none.
    pub async fn verify(&self, password: String, hash: Option<String>) -> Result<bool, Problem> {
        self.compute(move || verify(password.as_bytes(), hash.as_deref()))
            .await
    }

    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| error::busy())?;
        let done = web::block(move || {
            // Given back by the work itself: a caller that goes away does not end it.
            let _place = place;
            work()
        });
        done.await.map_err(|_| error::busy())?
    }
}

/// Is a new password one that may be chosen?
pub fn check(password: &str) -> Result<(), String> {
    let chars = password.chars().count();
    if (MIN_CHARS..=MAX_CHARS).contains(&chars) {
        return Ok(());
    }
    Err(format!(
        "has {chars} characters; choose {MIN_CHARS} to {MAX_CHARS}"
    ))
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
