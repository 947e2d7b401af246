//! Encrypts webhook secrets at rest, with a key in the data directory, or in the store that several nodes share.
//!
//! The service signs with these secrets, so it cannot hash them as it hashes API keys. The records alone, such as a backup without
//! key files, do not suffice to forge a delivery.

use crate::cluster_secret::derive_key;
use crate::config;
use crate::private_file;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use std::io;
use std::path::{Path, PathBuf};
use tintype_actors::round::decide;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::tables::VAULT_KEY;
use tintype_storage::store::{Decision, RoundReads, Store, StoreError, Writes};
use tintype_storage::webhook_wire::secret::WebhookSecret;
use uuid::Uuid;

const FILE_NAME: &str = "secrets-key";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// The id for which the vault's own key is sealed. No webhook has it.
const OWN: WebhookId = WebhookId(Uuid::max());

/// Encrypts ("seals") and decrypts ("opens") webhook secrets.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
}

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The key file cannot be read or created, or other users have access to it.
    #[error("the key file {}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    /// The key file is missing or damaged.
    #[error("the key file {} {reason}", .path.display())]
    Key {
        path: PathBuf,
        /// The fault, and what to do.
        reason: &'static str,
    },
    #[error("the secret of a webhook cannot be decrypted with the key of this data directory")]
    Sealed,
    /// The cluster secret does not open the vault's key.
    #[error(
        "`[cluster] secret` (TINTYPE_SECRET) is not the one that this database was set up with; give this process the secret of the \
         other nodes, or if it is lost, run `tintype webhook reset-secrets`"
    )]
    OtherSecret,
    /// The records come from nodes, and this process has no cluster secret.
    #[error(
        "the webhook secrets on record are encrypted with the `[cluster] secret` of the nodes that the records come from; set the \
         environment variable TINTYPE_SECRET to the secret of these nodes, or if it is lost, run `tintype webhook reset-secrets`"
    )]
    NoSecret,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Vault {
    /// Opens the vault of a data directory. The first use creates its key, readable only by the owner.
    ///
    /// `known` is any webhook of the store. Its secret shows whether this is the right key. With a new key every pending delivery
    /// would fail, and the secrets on record would be lost.
    ///
    /// # Errors
    /// [`VaultError::Key`] names the file and what to do about it.
    pub fn load_or_create(data_dir: &Path, known: Option<&Webhook>) -> Result<Self, VaultError> {
        let key = match key_of(data_dir, known)? {
            Some(key) => key,
            None => {
                let new = || rand::random::<[u8; KEY_BYTES]>().to_vec();
                let stored = private_file::read_or_create(data_dir, FILE_NAME, new);
                let stored = stored.map_err(|it| file_fault(data_dir, it))?;
                parse_key(data_dir, stored, known)?
            }
        };
        Ok(Self::with_key(key))
    }

    /// Opens the vault of a store that several nodes share. The store holds the vault's key, sealed with the cluster secret. The first
    /// node creates it, or adopts the key of its data directory if the records were moved from there.
    ///
    /// # Errors
    /// [`VaultError::OtherSecret`], and those of [`Vault::load_or_create`].
    pub async fn of_nodes(
        store: &Store,
        cluster_secret: &config::Secret,
        data_dir: &Path,
    ) -> Result<Self, VaultError> {
        let outer = Self::with_key(derive_key(cluster_secret, "vault"));
        let sealed = match VAULT_KEY.get(store, &()).await? {
            Some(sealed) => sealed,
            None => {
                let known = store.any_webhook().await?;
                let key = key_of(data_dir, known.as_ref())?.unwrap_or_else(rand::random);
                let sealed = outer.seal(OWN, &WebhookSecret::from_random(key));
                decide(store, StoreFirstKey(sealed)).await?
            }
        };
        let key = outer.open(OWN, &sealed);
        let key = key.map_err(|_| VaultError::OtherSecret)?;
        Ok(Self::with_key(*key.key_bytes()))
    }

    /// Creates a vault with a new key for a store that several nodes share. Also returns the key, sealed with the cluster secret.
    pub fn create_for_nodes(cluster_secret: &config::Secret) -> (Self, SealedSecret) {
        let key = rand::random();
        let outer = Self::with_key(derive_key(cluster_secret, "vault"));
        let sealed = outer.seal(OWN, &WebhookSecret::from_random(key));
        (Self::with_key(key), sealed)
    }

    fn with_key(key: [u8; KEY_BYTES]) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(&key.into()),
        }
    }

    /// Seals a secret for its webhook. It opens only for that webhook.
    pub fn seal(&self, webhook: WebhookId, secret: &WebhookSecret) -> SealedSecret {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload {
            msg: secret.key_bytes(),
            aad: webhook.as_bytes(),
        };
        // Encryption fails only for messages of hundreds of gigabytes.
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .unwrap_or_default();
        SealedSecret([nonce.as_slice(), &sealed].concat())
    }

    /// Can the secrets be decrypted that sign the deliveries of this webhook now?
    pub fn opens(&self, webhook: &Webhook, now: Timestamp) -> bool {
        let mut secrets = webhook.signing_secrets(now).into_iter();
        secrets.all(|it| self.open(webhook.id, it).is_ok())
    }

    pub fn open(
        &self,
        webhook: WebhookId,
        sealed: &SealedSecret,
    ) -> Result<WebhookSecret, VaultError> {
        let (nonce, rest) = sealed
            .0
            .split_at_checked(NONCE_BYTES)
            .ok_or(VaultError::Sealed)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| VaultError::Sealed)?;
        let payload = Payload {
            msg: rest,
            aad: webhook.as_bytes(),
        };
        let bytes = self
            .cipher
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_| VaultError::Sealed)?;
        Ok(WebhookSecret::from_random(
            bytes.try_into().map_err(|_| VaultError::Sealed)?,
        ))
    }
}

/// Reads the key of a data directory. `None` if it has none yet.
fn key_of(data_dir: &Path, known: Option<&Webhook>) -> Result<Option<[u8; KEY_BYTES]>, VaultError> {
    let read = private_file::read(data_dir, FILE_NAME);
    match read.map_err(|it| file_fault(data_dir, it))? {
        Some(bytes) => parse_key(data_dir, bytes, known).map(Some),
        None if known.is_some() => Err(wrong_key(
            data_dir,
            "is missing, and the secrets of webhooks are encrypted with it; restore it from a backup, or if it is lost, \
             run `tintype webhook reset-secrets`",
        )),
        None => Ok(None),
    }
}

/// Checks the content of the key file.
fn parse_key(
    data_dir: &Path,
    bytes: Vec<u8>,
    known: Option<&Webhook>,
) -> Result<[u8; KEY_BYTES], VaultError> {
    let key: Result<[u8; KEY_BYTES], _> = bytes.try_into();
    let key = key.map_err(|_| {
        let reason = "is damaged; restore it from a backup, or if it is lost, remove it and run `tintype webhook reset-secrets`";
        wrong_key(data_dir, reason)
    })?;
    let vault = Vault::with_key(key);
    if known.is_some_and(|it| vault.open(it.id, &it.secret).is_err()) {
        return Err(wrong_key(
            data_dir,
            "is not the key of the webhooks' secrets on record; restore it from the backup of these records, or if it is lost, \
             run `tintype webhook reset-secrets`",
        ));
    }
    Ok(key)
}

fn file_fault(data_dir: &Path, source: io::Error) -> VaultError {
    let path = data_dir.join(FILE_NAME);
    VaultError::File { path, source }
}

fn wrong_key(data_dir: &Path, reason: &'static str) -> VaultError {
    let path = data_dir.join(FILE_NAME);
    VaultError::Key { path, reason }
}

/// Stores the vault's key, unless another node has stored one. Returns the stored key.
struct StoreFirstKey(SealedSecret);

impl Decision for StoreFirstKey {
    type Outcome = SealedSecret;

    fn locked_keys(&self) -> Vec<Key> {
        vec![VAULT_KEY.key(&())]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![ReadRequest::Get(VAULT_KEY.key(&()))]
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, SealedSecret), StoreError> {
        Ok(match reads.get(&VAULT_KEY, &())? {
            Some(kept) => (Writes::new(), kept),
            None => (vec![VAULT_KEY.put(&(), &self.0)], self.0.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread;
    use tintype_storage::domain::ids::AccountId;
    use tintype_storage::domain::time::Timestamp;
    use uuid::Uuid;

    fn id(number: u128) -> WebhookId {
        WebhookId(Uuid::from_u128(number))
    }

    #[test]
    fn a_secret_is_decrypted_only_for_its_webhook_even_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let secret = WebhookSecret::from_random([7; 32]);
        let sealed = Vault::load_or_create(directory.path(), None)
            .unwrap()
            .seal(id(1), &secret);
        let vault = Vault::load_or_create(directory.path(), None).unwrap();
        assert_eq!(vault.open(id(1), &sealed).unwrap().text(), secret.text());
        assert!(vault.open(id(2), &sealed).is_err(), "another webhook's");
        assert_ne!(
            vault.seal(id(1), &secret).0,
            sealed.0,
            "no two seals are alike"
        );
        let other = tempfile::tempdir().unwrap();
        assert!(
            Vault::load_or_create(other.path(), None)
                .unwrap()
                .open(id(1), &sealed)
                .is_err(),
            "another key"
        );
    }

    #[test]
    fn processes_that_start_at_once_have_one_key() {
        let directory = tempfile::tempdir().unwrap();
        let start = || Vault::load_or_create(directory.path(), None).unwrap();
        let vaults = thread::scope(|scope| {
            let starts = [(); 8].map(|()| scope.spawn(start));
            starts.map(|it| it.join().unwrap())
        });
        for vault in vaults {
            let sealed = vault.seal(id(1), &WebhookSecret::from_random([7; 32]));
            assert!(start().open(id(1), &sealed).is_ok());
        }
    }

    #[test]
    fn a_damaged_seal_or_key_is_a_clear_error() {
        let directory = tempfile::tempdir().unwrap();
        let vault = Vault::load_or_create(directory.path(), None).unwrap();
        let sealed = vault.seal(id(1), &WebhookSecret::from_random([7; 32]));
        for at in 0..sealed.0.len() {
            let mut bytes = sealed.0.clone();
            bytes[at] ^= 1;
            assert!(
                vault.open(id(1), &SealedSecret(bytes)).is_err(),
                "changed at {at}"
            );
            assert!(
                vault
                    .open(id(1), &SealedSecret(sealed.0[..at].to_vec()))
                    .is_err(),
                "cut at {at}"
            );
        }
        let path = directory.path().join(FILE_NAME);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let open = Vault::load_or_create(directory.path(), None).err().unwrap();
        assert!(open.to_string().contains("chmod 600"), "{open}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"short").unwrap();
        assert!(
            Vault::load_or_create(directory.path(), None)
                .err()
                .unwrap()
                .to_string()
                .contains("restore")
        );
    }

    #[test]
    fn a_missing_or_wrong_key_is_never_replaced_silently() {
        let directory = tempfile::tempdir().unwrap();
        let vault = Vault::load_or_create(directory.path(), None).unwrap();
        let known = Webhook::new(
            id(1),
            AccountId(Uuid::nil()),
            "https://example.com/",
            vault.seal(id(1), &WebhookSecret::from_random([7; 32])),
            Timestamp::from_millis(0),
        );
        let error = || {
            let loaded = Vault::load_or_create(directory.path(), Some(&known));
            loaded.err().map(|error| error.to_string())
        };
        assert_eq!(error(), None);
        let path = directory.path().join(FILE_NAME);
        fs::write(&path, [9; KEY_BYTES]).unwrap();
        assert!(
            error()
                .unwrap()
                .contains("is not the key of the webhooks' secrets")
        );
        fs::remove_file(&path).unwrap();
        assert!(error().unwrap().contains("is missing"));
        assert!(!path.exists(), "and no key is created");
    }
}
