//! The people of an account, their invitations and their panel sessions.

use super::ids::{AccountId, id};
use super::named_enum::named_enum;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

id!(PersonId);

/// The longest email address (RFC 5321, section 4.5.3.1.3).
pub const MAX_EMAIL_CHARS: usize = 254;

/// SHA-256 of a secret that a browser holds, or of an email address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest32(pub [u8; 32]);

named_enum!(
    Role {
        /// May do everything except the operator's tasks.
        Owner = "owner",
        /// Read-only.
        Viewer = "viewer",
    }
);

/// Trimmed and lower case, for comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Email(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an email address, such as ada@example.com")]
pub struct NotAnEmail;

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Email {
    type Err = NotAnEmail;

    /// A lenient check: the invitation proves the address.
    fn from_str(text: &str) -> Result<Self, NotAnEmail> {
        let text = text.trim().to_lowercase();
        let plain = text.chars().count() <= MAX_EMAIL_CHARS
            && !text.chars().any(|c| c.is_control() || c.is_whitespace());
        match text.rsplit_once('@') {
            Some((local, domain)) if plain && !local.is_empty() && !domain.is_empty() => {
                Ok(Self(text))
            }
            _ => Err(NotAnEmail),
        }
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A one-time link with which a person chooses a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Hash of the link's secret.
    pub secret: Digest32,
    /// Invalid from this time on.
    pub expires_at: Timestamp,
}

/// A person who manages an account in the panel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub id: PersonId,
    pub account: AccountId,
    /// Unique among all people.
    pub email: Email,
    pub role: Role,
    /// A PHC string (argon2id); `None` until the person accepts the invitation.
    pub password: Option<String>,
    /// The open invitation, if any.
    pub invitation: Option<Invitation>,
    /// Sessions of an earlier generation are invalid. Rises with sign-out everywhere and with each new password.
    pub generation: u32,
    /// The time of the first invitation.
    pub created_at: Timestamp,
}

impl Person {
    /// Does this secret open the invitation at `now`?
    pub fn admits(&self, secret: &Digest32, now: Timestamp) -> bool {
        self.invitation
            .is_some_and(|it| it.secret == *secret && now < it.expires_at)
    }

    /// Sets the password, uses up the invitation and ends earlier sessions.
    pub fn with_password(self, password: String) -> Self {
        Self {
            password: Some(password),
            invitation: None,
            generation: self.generation.wrapping_add(1),
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Visitor {
    /// The hash of the operator token. A new token ends the session.
    Operator(Digest32),
    Person(AccountId, PersonId),
}

/// A signed-in browser. Stored under the hash of the session id, which only the browser knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub visitor: Visitor,
    /// The visitor's generation when the session started.
    pub generation: u32,
    pub created_at: Timestamp,
    /// The last use, accurate to [`Session::SEEN_STEP`].
    pub seen_at: Timestamp,
}

impl Session {
    /// The maximum lifetime.
    pub const LIFETIME: Duration = Duration::from_secs(14 * 86_400);
    /// The maximum time between calls.
    pub const IDLE: Duration = Duration::from_secs(12 * 3_600);
    /// A use within this time of the last recorded one is not recorded.
    const SEEN_STEP: Duration = Duration::from_secs(300);
    /// A session that started this long after `now` started under a clock that was ahead, and would outlive its lifetime.
    const CLOCK_SKEW: Duration = Duration::from_secs(3_600);

    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.created_at <= now.plus(Self::CLOCK_SKEW)
            && now < self.created_at.plus(Self::LIFETIME)
            && now < self.seen_at.plus(Self::IDLE)
    }

    /// Should a use at `now` be recorded? Also if the last use was recorded under a clock that was ahead, so that the session still ends
    /// by idleness.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now >= self.seen_at.plus(Self::SEEN_STEP) || self.seen_at >= now.plus(Self::SEEN_STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_compared_in_lower_case_without_blanks_around_it() {
        let email: Email = " Ada@Example.COM ".parse().unwrap();
        assert_eq!(email.as_str(), "ada@example.com");
        for bad in ["", "ada", "@x", "ada@", "a b@c", "a\n@c", &"a".repeat(300)] {
            assert_eq!(bad.parse::<Email>(), Err(NotAnEmail), "{bad:?}");
        }
    }

    #[test]
    fn a_session_ends_by_age_and_by_idleness() {
        let start = Timestamp::from_millis(1_000);
        let session = Session {
            visitor: Visitor::Operator(Digest32([0; 32])),
            generation: 0,
            created_at: start,
            seen_at: start,
        };
        let idle = start.plus(Session::IDLE);
        assert!(session.is_alive(Timestamp::from_millis(idle.millis() - 1)));
        assert!(!session.is_alive(idle));
        let end = start.plus(Session::LIFETIME);
        let used = Session {
            seen_at: end,
            ..session
        };
        assert!(!used.is_alive(end));
        assert!(used.is_alive(Timestamp::from_millis(end.millis() - 1)));
    }

    #[test]
    fn a_session_from_a_clock_that_was_ahead_ends_by_age_and_by_idleness() {
        let (now, hour) = (Timestamp::from_millis(1_000), Duration::from_secs(3_600));
        let session = |created_at, seen_at| Session {
            visitor: Visitor::Operator(Digest32([0; 32])),
            generation: 0,
            created_at,
            seen_at,
        };
        let ahead = now.plus(hour);
        assert!(session(ahead, ahead).is_alive(now));
        let far_ahead = Timestamp::from_millis(ahead.millis() + 1);
        assert!(!session(far_ahead, far_ahead).is_alive(now));
        let used_ahead = session(now, far_ahead);
        assert!(used_ahead.is_alive(now) && used_ahead.is_stale(now));
        assert!(!session(now, now).is_stale(now));
    }

    #[test]
    fn an_invitation_is_valid_once_and_until_it_expires() {
        let end = Timestamp::from_millis(5_000);
        let secret = Digest32([7; 32]);
        let person = Person {
            id: PersonId(Uuid::nil()),
            account: AccountId(Uuid::nil()),
            email: "a@b".parse().unwrap(),
            role: Role::Viewer,
            password: None,
            invitation: Some(Invitation {
                secret,
                expires_at: end,
            }),
            generation: 3,
            created_at: Timestamp::from_millis(0),
        };
        assert!(person.admits(&secret, Timestamp::from_millis(4_999)));
        assert!(!person.admits(&secret, end));
        assert!(!person.admits(&Digest32([8; 32]), Timestamp::from_millis(0)));
        let person = person.with_password("hash".into());
        assert!(!person.admits(&secret, Timestamp::from_millis(0)));
        assert_eq!(person.generation, 4);
    }
}
