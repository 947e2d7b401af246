//! The key that signs the URLs of locally stored files: generated once, stored with mode 0600.
//!
//! # Signed text
//!
//! HMAC-SHA256 (RFC 2104) under the 32 bytes of the key's file, over
//!
//! ```text
//! tintype file v1\n<expires>\n<key>
//! ```
//!
//! where `<expires>` is the decimal Unix time in seconds and `<key>` the object's key as UTF-8,
//! not percent-encoded. The first line separates this use of the signing key from any later one.
//! The object's key comes last, after a number without a line break, so no two (expires, key)
//! pairs give the same text. The signature does not cover the method: one URL serves GET and HEAD,
//! and the route answers no other method.

use super::ObjectError;
use crate::private_file;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::fs;
use std::path::Path;

const FILE_NAME: &str = "file-signing-key";

/// The size of the hash's output, as RFC 2104, section 3 advises.
const KEY_BYTES: usize = 32;

const DOMAIN: &[u8] = b"tintype file v1\n";

pub(super) const SIGNATURE_BYTES: usize = 32;

#[derive(Clone)]
pub struct FileSigningKey {
    /// The HMAC state after the key; each use clones it.
    keyed: Hmac<Sha256>,
}

impl FileSigningKey {
    /// Reads `<data_dir>/file-signing-key`, or creates the file (and the directory) if it is missing.
    ///
    /// The creation is atomic and durable when this returns. Two processes that create the file at
    /// the same time get the same key.
    ///
    /// # Errors
    /// `ObjectError::SigningKey` when the file cannot be read or created, does not have 32 bytes, or
    /// is accessible to others.
    pub fn load_or_create(data_dir: &Path) -> Result<Self, ObjectError> {
        let refuse = |reason: String| ObjectError::SigningKey {
            path: data_dir.join(FILE_NAME),
            reason,
        };
        let new = || rand::random::<[u8; KEY_BYTES]>().to_vec();
        let bytes = fs::create_dir_all(data_dir)
            .and_then(|()| private_file::read_or_create(data_dir, FILE_NAME, new))
            .map_err(|error| refuse(error.to_string()))?;
        let bytes: [u8; KEY_BYTES] = bytes.try_into().map_err(|bytes: Vec<u8>| {
            refuse(format!(
                "it has {} bytes instead of {KEY_BYTES}; restore it from a backup, or delete it, and the next start creates a new one (download addresses signed before then stop working)",
                bytes.len()
            ))
        })?;
        Ok(Self::from_bytes(&bytes))
    }

    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        let keyed = Hmac::new_from_slice(bytes).expect("HMAC takes a key of any length");
        Self { keyed }
    }

    /// `expires` is the Unix time in seconds from which the URL is refused.
    pub(super) fn sign(&self, key: &str, expires: u64) -> [u8; SIGNATURE_BYTES] {
        self.mac(key, expires).finalize().into_bytes().into()
    }

    /// Verifies in constant time.
    pub(super) fn verify(
        &self,
        key: &str,
        expires: u64,
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool {
        self.mac(key, expires).verify_slice(signature).is_ok()
    }

    fn mac(&self, key: &str, expires: u64) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(DOMAIN);
        mac.update(expires.to_string().as_bytes());
        mac.update(b"\n");
        mac.update(key.as_bytes());
        mac
    }
}

/// Shows nothing of the key.
impl fmt::Debug for FileSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileSigningKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_created_key_is_loaded_again_and_leaves_no_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().join("data");
        let first = FileSigningKey::load_or_create(&data_dir).unwrap();
        let second = FileSigningKey::load_or_create(&data_dir).unwrap();
        assert_eq!(first.sign("a", 1), second.sign("a", 1));
        let names: Vec<_> = fs::read_dir(&data_dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [FILE_NAME]);
    }

    #[test]
    fn two_directories_have_two_keys() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let a = FileSigningKey::load_or_create(a.path()).unwrap();
        let b = FileSigningKey::load_or_create(b.path()).unwrap();
        assert_ne!(a.sign("a", 1), b.sign("a", 1));
    }

    #[test]
    fn concurrent_creators_get_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let signatures: Vec<_> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        FileSigningKey::load_or_create(dir.path())
                            .unwrap()
                            .sign("a", 1)
                    })
                })
                .collect();
            makers
                .into_iter()
                .map(|maker| maker.join().unwrap())
                .collect()
        });
        assert!(signatures.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn a_file_that_others_can_access_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        FileSigningKey::load_or_create(dir.path()).unwrap();
        let path = dir.path().join(FILE_NAME);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        for mode in [0o640, 0o604, 0o660, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = FileSigningKey::load_or_create(dir.path())
                .unwrap_err()
                .to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        FileSigningKey::load_or_create(dir.path()).unwrap();
    }

    #[test]
    fn a_key_of_the_wrong_length_or_kind_is_refused() {
        for length in [0, 31, 33] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(FILE_NAME);
            fs::write(&path, vec![7; length]).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let error = FileSigningKey::load_or_create(dir.path())
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("has {length} bytes")), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FILE_NAME)).unwrap();
        let error = FileSigningKey::load_or_create(dir.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn debug_output_hides_the_key() {
        let key = FileSigningKey::from_bytes(b"SECRETSECRETSECRETSECRETSECRETSE");
        assert_eq!(format!("{key:?}"), "FileSigningKey(..)");
    }

    /// The documented text, signed by another program:
    /// `printf 'tintype file v1\n86400\nresults/a.png' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0707...07`
    #[test]
    fn the_signature_covers_the_documented_text() {
        let key = FileSigningKey::from_bytes(&[7; KEY_BYTES]);
        assert_eq!(hex::encode(key.sign("results/a.png", 86_400)), EXPECTED);
    }

    const EXPECTED: &str = "917abdab86fe35fcd58bd486cb56a5a7f754aa5728d25115e7a1c7960e8db658";
}
