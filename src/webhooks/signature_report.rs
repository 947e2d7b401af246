//! The result of verifying the two signatures of a delivery.

use tintype_storage::domain::time::Timestamp;
use tintype_storage::webhook_wire::secret::WebhookSecret;
use tintype_storage::webhook_wire::verification::{
    Headers, Refusal, SignedText, verify_standard, verify_x_signature,
};

/// The outcome of each scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureReport {
    /// `X-Signature` with `X-Timestamp`.
    pub x_signature: Result<SignedText, Refusal>,
    /// `webhook-signature` with `webhook-id` and `webhook-timestamp`.
    pub standard: Result<(), Refusal>,
}

/// The result of one scheme, as text.
pub struct Verdict {
    /// The header with the signature.
    pub header: &'static str,
    pub verifies: bool,
    pub words: String,
}

impl SignatureReport {
    /// Tries every secret and keeps the best result of each scheme. Without a secret nothing matches.
    pub fn new(
        secrets: &[WebhookSecret],
        headers: &Headers<'_>,
        body: &[u8],
        now: Timestamp,
    ) -> Self {
        let x = |secret| verify_x_signature(secret, headers, body, now);
        let standard = |secret| verify_standard(secret, headers, body, now);
        Self {
            x_signature: best(secrets.iter().map(x)),
            standard: best(secrets.iter().map(standard)),
        }
    }

    /// Whether at least one scheme verifies. A receiver checks one of the two.
    pub fn verifies(&self) -> bool {
        self.x_signature.is_ok() || self.standard.is_ok()
    }

    /// Is a signature right, but too old?
    pub fn is_stale(&self) -> bool {
        let is_old = |refusal: Refusal| matches!(refusal, Refusal::Stale(_));
        !self.verifies()
            && (self.x_signature.is_err_and(is_old) || self.standard.is_err_and(is_old))
    }

    /// Did another secret sign the delivery, as far as its headers show?
    pub fn is_mismatch(&self) -> bool {
        let is_other = |refusal: Refusal| matches!(refusal, Refusal::Mismatch);
        !self.verifies()
            && (self.x_signature.is_err_and(is_other) || self.standard.is_err_and(is_other))
    }

    /// One line for each scheme.
    pub fn lines(&self) -> [String; 2] {
        self.verdicts()
            .map(|it| format!("{}: {}", it.header, it.words))
    }

    pub fn verdicts(&self) -> [Verdict; 2] {
        let x_signature = match self.x_signature {
            Ok(SignedText::Raw) => "verifies".into(),
            Ok(SignedText::Rewritten(encoding)) => format!(
                "verifies, but only after re-encoding the body as {}: something on the way has rewritten it",
                encoding.as_str()
            ),
            Err(refusal) => describe_refusal(refusal),
        };
        let standard = self
            .standard
            .map_or_else(describe_refusal, |()| "verifies".to_owned());
        let verdict = |header, verifies, words| Verdict {
            header,
            verifies,
            words,
        };
        [
            verdict("X-Signature", self.x_signature.is_ok(), x_signature),
            verdict("webhook-signature", self.standard.is_ok(), standard),
        ]
    }
}

fn describe_refusal(refusal: Refusal) -> String {
    match refusal {
        Refusal::Missing(_) => format!("not checked: {refusal}"),
        _ => format!("does not verify: {refusal}"),
    }
}

/// Ranks success first, then a wrong time (the secret was right), then every other refusal.
fn best<T>(outcomes: impl Iterator<Item = Result<T, Refusal>>) -> Result<T, Refusal> {
    let rank = |outcome: &Result<T, Refusal>| match outcome {
        Ok(_) => 0,
        Err(Refusal::Stale(_) | Refusal::Future(_)) => 1,
        Err(_) => 2,
    };
    outcomes.min_by_key(rank).unwrap_or(Err(Refusal::Mismatch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::webhook_wire::signature::{standard_signature, x_signature};

    const BODY: &str = r#"{"a":1}"#;

    fn verdict(body: &str, secrets: &[WebhookSecret], late: i64) -> SignatureReport {
        let (old, new) = (
            WebhookSecret::from_random([1; 32]),
            WebhookSecret::from_random([2; 32]),
        );
        let x = x_signature(&new, 1_000, BODY);
        let standard = standard_signature(&[new, old], "id", 1_000, BODY);
        let headers = Headers {
            x_signature: Some(&x),
            x_timestamp: Some("1000"),
            webhook_id: Some("id"),
            webhook_timestamp: Some("1000"),
            webhook_signature: Some(&standard),
        };
        let now = Timestamp::from_millis((1_000 + late) * 1_000);
        SignatureReport::new(secrets, &headers, body.as_bytes(), now)
    }

    #[test]
    fn each_outcome_is_reported() {
        let [old, new, other] = [1, 2, 3].map(|it| WebhookSecret::from_random([it; 32]));
        let cases = [
            ("new secret", verdict(BODY, std::slice::from_ref(&new), 0)),
            ("old secret", verdict(BODY, std::slice::from_ref(&old), 0)),
            (
                "other secret",
                verdict(BODY, std::slice::from_ref(&other), 0),
            ),
            ("no secret", verdict(BODY, &[], 0)),
            ("late", verdict(BODY, &[other.clone(), new.clone()], 301)),
            ("early", verdict(BODY, &[new.clone(), other.clone()], -400)),
            (
                "rewritten",
                verdict(r#"{ "a": 1.0 }"#, &[other, old, new.clone()], 0),
            ),
            (
                "changed",
                verdict(r#"{"a":2}"#, std::slice::from_ref(&new), 0),
            ),
            (
                "bare",
                SignatureReport::new(&[new], &Headers::default(), b"", Timestamp::from_millis(0)),
            ),
        ];
        let reports: Vec<String> = cases
            .iter()
            .map(|(name, it)| format!("{name}: {}\n  {}\n", it.verifies(), it.lines().join("\n  ")))
            .collect();
        insta::assert_snapshot!(reports.concat());
    }
}
