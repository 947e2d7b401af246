//! A registered webhook, and which webhook receives a job's event.

use super::ids::{AccountId, id};
use super::named_enum::named_enum;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use uuid::Uuid;

/// How long a replaced secret continues to sign `webhook-signature`.
const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// Stored replaced secrets. The limit keeps the header short: one more rotation ends the oldest secret early.
pub const MAX_RETIRED: usize = 4;

id!(WebhookId);

named_enum!(
    /// The serialiser whose output a request body equals.
    Encoding {
        /// Python's `json.dumps` with sorted keys and compact separators: ASCII only, keys by code point, integers exact.
        Ascii = "ascii",
        /// RFC 8785: raw UTF-8, keys by UTF-16 code unit, every number as the double that `JSON.parse` reads.
        Utf8 = "utf8",
    }
);

/// A registered URL and the secrets that sign deliveries to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Sorts by registration time.
    pub id: WebhookId,
    pub account: AccountId,
    /// Exactly as registered.
    pub url: String,
    /// The encoding of request bodies.
    pub encoding: Encoding,
    /// The current secret.
    pub secret: SealedSecret,
    /// Replaced secrets, newest first.
    pub retired: Vec<RetiredSecret>,
    pub created_at: Timestamp,
    /// An inactive webhook receives nothing. It keeps its position in the account, so no other webhook gets its deliveries.
    pub active: bool,
}

/// A secret encrypted under the data directory's key. Other modules seal and open it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret(pub Vec<u8>);

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedSecret({} bytes)", self.0.len())
    }
}

/// A replaced secret that receivers may still use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredSecret {
    pub secret: SealedSecret,
    /// The secret signs nothing from this time on.
    pub until: Timestamp,
}

impl Webhook {
    /// An active webhook with the default encoding.
    pub fn new(
        id: WebhookId,
        account: AccountId,
        url: impl Into<String>,
        secret: SealedSecret,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            account,
            url: url.into(),
            encoding: Encoding::Ascii,
            secret,
            retired: Vec::new(),
            created_at,
            active: true,
        }
    }

    /// Replaces the secret. The old one continues to sign for [`ROTATION_OVERLAP`].
    ///
    /// A second rotation does not shorten the first one's overlap: rotating twice breaks no receiver.
    pub fn rotate(&self, secret: SealedSecret, now: Timestamp) -> Self {
        let replaced = RetiredSecret {
            secret: self.secret.clone(),
            until: now.plus(ROTATION_OVERLAP),
        };
        let still = self.retired.iter().filter(|it| now < it.until).cloned();
        Self {
            secret,
            retired: std::iter::once(replaced)
                .chain(still)
                .take(MAX_RETIRED)
                .collect(),
            ..self.clone()
        }
    }

    /// The secrets that sign `webhook-signature` at `now`, newest first. Only the first signs `X-Signature`.
    pub fn signing_secrets(&self, now: Timestamp) -> Vec<&SealedSecret> {
        let retired = self.retired.iter().filter(|it| now < it.until);
        std::iter::once(&self.secret)
            .chain(retired.map(|it| &it.secret))
            .collect()
    }
}

/// The webhook that receives a job's event (specification, "Choosing the receiving webhook").
///
/// Without a `callback_url` the oldest webhook receives it. Otherwise the webhook with exactly that URL does; if that webhook
/// is no longer registered, no other one replaces it.
pub fn choose<'a>(oldest_first: &'a [Webhook], callback_url: Option<&str>) -> Option<&'a Webhook> {
    match callback_url {
        None => oldest_first.first(),
        Some(url) => oldest_first.iter().find(|it| it.url == url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(number: u128, url: &str) -> Webhook {
        Webhook::new(
            WebhookId(Uuid::from_u128(number)),
            AccountId(Uuid::nil()),
            url,
            SealedSecret(vec![number as u8]),
            Timestamp::from_millis(number as i64),
        )
    }

    #[test]
    fn without_a_callback_the_oldest_receives() {
        let (a, b) = (webhook(1, "https://a/"), webhook(2, "https://b/"));
        assert_eq!(choose(&[], None), None);
        assert_eq!(choose(std::slice::from_ref(&b), None), Some(&b));
        assert_eq!(choose(&[a.clone(), b], None), Some(&a));
    }

    #[test]
    fn hostile_107_a_callback_matches_character_for_character() {
        let all = [webhook(1, "https://a/"), webhook(2, "https://b/x?y=1")];
        assert_eq!(choose(&all, Some("https://b/x?y=1")), Some(&all[1]));
        for other in [
            "",
            "https://b/x",
            "https://b/x?y=1&",
            "https://b:443/x?y=1",
            "https://B/x?y=1",
            "https://a",
            " https://a/",
        ] {
            assert_eq!(choose(&all, Some(other)), None, "{other}");
        }
    }

    #[test]
    fn a_replaced_secret_signs_for_a_day() {
        let start = Timestamp::from_millis(1_000);
        let day = start.plus(ROTATION_OVERLAP);
        let sealed = |byte| SealedSecret(vec![byte]);
        let once = webhook(1, "https://a/").rotate(sealed(2), start);
        assert_eq!(once.signing_secrets(start), [&sealed(2), &sealed(1)]);
        assert_eq!(once.signing_secrets(day), [&sealed(2)]);

        let noon = start.plus(ROTATION_OVERLAP / 2);
        let twice = once.rotate(sealed(3), noon);
        assert_eq!(
            twice.signing_secrets(noon),
            [&sealed(3), &sealed(2), &sealed(1)]
        );
        assert_eq!(twice.signing_secrets(day), [&sealed(3), &sealed(2)]);

        let last = (4..=99).fold(twice, |it, byte| it.rotate(sealed(byte), noon));
        assert_eq!(last.retired.len(), MAX_RETIRED);
        assert_eq!(last.signing_secrets(noon)[..2], [&sealed(99), &sealed(98)]);
    }

    #[test]
    fn no_message_shows_a_sealed_secret() {
        let shown = format!("{:?}", webhook(213, "https://a/"));
        assert!(shown.contains("SealedSecret(1 bytes)") && !shown.contains("[213]"));
    }
}
