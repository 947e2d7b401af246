//! A registered webhook, and which of them receives a job's event.

use super::canonical::Encoding;
use super::ids::{AccountId, NotAnId};
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// How long a replaced secret goes on signing `webhook-signature`.
pub const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// Replaced secrets that are kept at once, so that the header stays short: at one rotation more the oldest ends early.
pub const MAX_RETIRED: usize = 4;

id!(
    /// A registered webhook.
    WebhookId
);

/// A URL that an account has registered, with what signs the deliveries to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its id; sorts by registration.
    pub id: WebhookId,
    pub account: AccountId,
    /// Where deliveries go, as it was registered, character for character.
    pub url: String,
    /// How bodies to it are written.
    pub encoding: Encoding,
    /// The secret in force.
    pub secret: SealedSecret,
    /// Those that it replaced, newest first.
    pub retired: Vec<RetiredSecret>,
    pub created_at: Timestamp,
    /// While it is not, nothing is sent to it. It keeps its place among those of its account, so no other one gets its deliveries.
    #[serde(default = "active")]
    pub active: bool,
}

/// What an export says of a webhook that was always active.
fn active() -> bool {
    true
}

/// A secret encrypted under the data directory's key; sealing and opening are done elsewhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecret(pub Vec<u8>);

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedSecret({} bytes)", self.0.len())
    }
}

/// A replaced secret that receivers may still hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredSecret {
    pub secret: SealedSecret,
    /// From this moment on it signs nothing.
    pub until: Timestamp,
}

impl Webhook {
    /// An active webhook of the default encoding.
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

    /// Replaces the secret. The old one signs on beside it for [`ROTATION_OVERLAP`].
    ///
    /// A second rotation does not cut the first one's time short: pressing the button twice breaks no receiver.
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

    /// The secrets that sign `webhook-signature` at `now`, newest first. The first alone signs `X-Signature`.
    pub fn signing_secrets(&self, now: Timestamp) -> Vec<&SealedSecret> {
        let retired = self.retired.iter().filter(|it| now < it.until);
        std::iter::once(&self.secret)
            .chain(retired.map(|it| &it.secret))
            .collect()
    }
}

/// The webhook that receives a job's event (specification, "Choosing the receiving webhook").
///
/// Without a `callback_url` it is the oldest. With one it is the webhook of exactly that URL; when that is no longer
/// registered, no webhook receives the event, for no other receiver was asked for.
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
