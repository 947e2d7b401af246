//! Secrets that a browser holds: session ids and invitation tokens. Only their hashes are stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Digest32, PersonId};
use uuid::Uuid;

const ID: usize = 16;
const SECRET: usize = 32;

/// 256 random bits.
pub fn session_id() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; SECRET]>())
}

/// The stored form of a secret.
pub fn digest(secret: &[u8]) -> Digest32 {
    Digest32(Sha256::digest(secret).into())
}

/// Returns the token for the link of a new invitation, and the stored hash of its secret.
pub fn invitation(account: AccountId, person: PersonId) -> (String, Digest32) {
    let secret = rand::random::<[u8; SECRET]>();
    let text = [&account.as_bytes()[..], person.as_bytes(), &secret].concat();
    (URL_SAFE_NO_PAD.encode(text), digest(&secret))
}

/// Parses an invitation token: the invited person and the hash of the secret.
pub fn read_invitation(text: &str) -> Option<(AccountId, PersonId, Digest32)> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (account, rest) = bytes.split_first_chunk::<ID>()?;
    let (person, secret) = rest.split_first_chunk::<ID>()?;
    (secret.len() == SECRET).then(|| {
        (
            AccountId(Uuid::from_bytes(*account)),
            PersonId(Uuid::from_bytes(*person)),
            digest(secret),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_token_round_trips() {
        let (account, person) = (AccountId(Uuid::from_u128(1)), PersonId(Uuid::from_u128(2)));
        let (text, secret) = invitation(account, person);
        assert_eq!(read_invitation(&text), Some((account, person, secret)));
        for bad in ["", "x", &text[1..], &format!("{text}AA")] {
            assert_eq!(read_invitation(bad), None, "{bad}");
        }
    }
}
