//! The key that signs the addresses of locally stored files: made once, kept with mode 0600.
//!
//! # What a signature covers
//!
//! HMAC-SHA256 (RFC 2104) under the 32 bytes of the key's file, over
//!
//! ```text
//! tintype file v1\n<expires>\n<key>
//! ```
//!
//! where `<expires>` is the decimal Unix time in seconds and `<key>` the object's name as UTF-8,
//! not percent-encoded. The first line keeps this use of the key apart from any later one. The
//! name comes last, after a number that holds no line break, so no two (expires, key) pairs give
//! the same text. The method is not covered: one address serves GET and HEAD, and the route
//! answers no other.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;

use super::ImagesError;

/// The file's name in the data directory.
const FILE_NAME: &str = "file-signing-key";

/// The key's length in bytes: the size of the hash's output, as RFC 2104, section 3 advises.
const KEY_BYTES: usize = 32;

/// The first line of what is signed.
const DOMAIN: &[u8] = b"tintype file v1\n";

/// The length of a signature in bytes.
pub(super) const SIGNATURE_BYTES: usize = 32;

/// Signs and verifies the addresses of locally stored files.
#[derive(Clone)]
pub struct FileSigningKey {
    /// The HMAC with the key already taken in: each use clones this state.
    keyed: Hmac<Sha256>,
}

impl FileSigningKey {
    /// Reads `<data_dir>/file-signing-key`, or makes it (and the directory) where it is missing.
    ///
    /// The file appears whole or not at all, and is on the disk, with its directory's entry, when
    /// this returns; of two processes that make it at the same time both get the same key.
    ///
    /// # Errors
    ///
    /// `ImagesError::SigningKey` when the file is no regular file, has another length than 32
    /// bytes, or may be read by others; `ImagesError::Files` when it cannot be read or made.
    pub fn load_or_create(data_dir: &Path) -> Result<Self, ImagesError> {
        let path = data_dir.join(FILE_NAME);
        let files = |action, source| ImagesError::Files {
            action,
            path: path.clone(),
            source,
        };
        match File::open(&path) {
            Ok(file) => return Self::load(file, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(files("cannot open", error)),
        }
        create(data_dir, &path).map_err(|error| files("cannot create", error))?;
        let file = File::open(&path).map_err(|error| files("cannot open", error))?;
        Self::load(file, &path)
    }

    /// A key from its bytes, for tests and for tools that hold the bytes already.
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        let keyed = Hmac::new_from_slice(bytes).expect("HMAC takes a key of any length");
        Self { keyed }
    }

    fn load(mut file: File, path: &Path) -> Result<Self, ImagesError> {
        let refuse = |reason: String| ImagesError::SigningKey {
            path: path.to_path_buf(),
            reason,
        };
        let files = |source| ImagesError::Files {
            action: "cannot read",
            path: path.to_path_buf(),
            source,
        };
        let metadata = file.metadata().map_err(files)?;
        if !metadata.is_file() {
            return Err(refuse("it is not a regular file".to_owned()));
        }
        refuse_open_mode(&metadata).map_err(&refuse)?;
        if metadata.len() != KEY_BYTES as u64 {
            return Err(refuse(format!(
                "it has {} bytes instead of {KEY_BYTES}; restore it from a backup, or remove it to have a new one made (download addresses that are out then stop working)",
                metadata.len()
            )));
        }
        let mut bytes = [0; KEY_BYTES];
        file.read_exact(&mut bytes).map_err(files)?;
        Ok(Self::from_bytes(&bytes))
    }

    /// The signature of an object's name and the second from which its address is refused.
    pub(super) fn sign(&self, key: &str, expires: u64) -> [u8; SIGNATURE_BYTES] {
        self.mac(key, expires).finalize().into_bytes().into()
    }

    /// Whether a signature belongs to this name and time; takes the same time for every wrong one.
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

/// Says what it is and nothing of what it holds.
impl fmt::Debug for FileSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileSigningKey(..)")
    }
}

#[cfg(unix)]
fn refuse_open_mode(metadata: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;

    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        Err(format!(
            "its mode is {mode:04o}, so that others may use it; run chmod 600 on it"
        ))
    }
}

#[cfg(not(unix))]
fn refuse_open_mode(_: &fs::Metadata) -> Result<(), String> {
    Ok(())
}

/// Writes a fresh key beside its place and links it there: a link, unlike a rename, never
/// replaces a key that another process has made meanwhile.
fn create(data_dir: &Path, path: &Path) -> io::Result<()> {
    let mut bytes = [0; KEY_BYTES];
    let mut suffix = [0; 8];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(io::Error::other)?;
    SysRng
        .try_fill_bytes(&mut suffix)
        .map_err(io::Error::other)?;
    fs::create_dir_all(data_dir)?;
    let draft = data_dir.join(format!("{FILE_NAME}.{}.new", hex::encode(suffix)));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(&draft).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    let removed = fs::remove_file(&draft);
    made.and(removed)?;
    sync_directory(data_dir)
}

/// Makes a directory's entries durable; where directories cannot be opened this does nothing.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_key_is_found_again_and_leaves_nothing_else() {
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
    fn makers_at_the_same_time_end_with_one_key() {
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

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_alone_and_refused_otherwise() {
        use std::os::unix::fs::PermissionsExt;

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

    #[cfg(unix)]
    #[test]
    fn a_key_of_the_wrong_length_or_kind_is_refused() {
        use std::os::unix::fs::PermissionsExt;

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
    fn what_is_printed_holds_nothing_of_the_key() {
        let key = FileSigningKey::from_bytes(b"SECRETSECRETSECRETSECRETSECRETSE");
        assert_eq!(format!("{key:?}"), "FileSigningKey(..)");
    }

    /// The documented domain, computed by another program:
    /// `printf 'tintype file v1\n86400\nresults/a.png' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0707...07`
    #[test]
    fn the_signature_covers_what_the_module_says() {
        let key = FileSigningKey::from_bytes(&[7; KEY_BYTES]);
        assert_eq!(hex::encode(key.sign("results/a.png", 86_400)), EXPECTED);
    }

    const EXPECTED: &str = "917abdab86fe35fcd58bd486cb56a5a7f754aa5728d25115e7a1c7960e8db658";
}
