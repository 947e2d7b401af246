//! The operator's token: from the configuration, or made on first start and kept in a file that only the owner can read.

use crate::config::Secret;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "admin-token";
const BYTES: usize = 32;

/// The token, and where it lies if it is in a file.
pub struct AdminToken {
    /// The token.
    pub token: Secret,
    /// The file that holds it; `None` when it comes from the configuration.
    pub file: Option<PathBuf>,
}

/// The configured token, or the one of the data directory, which is made if it is not there.
pub fn admin_token(configured: Option<&Secret>, data_dir: &Path) -> io::Result<AdminToken> {
    if let Some(token) = configured {
        return Ok(AdminToken {
            token: token.clone(),
            file: None,
        });
    }
    let path = data_dir.join(FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text.trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(data_dir, &path)?,
        Err(error) => return Err(error),
    };
    if text.is_empty() {
        let message = format!(
            "{} is empty; remove it, and a new token is made",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(AdminToken {
        token: Secret::new(&text),
        file: Some(path),
    })
}

fn make(data_dir: &Path, path: &Path) -> io::Result<String> {
    let token = hex::encode(rand::random::<[u8; BYTES]>());
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{token}")?;
    file.sync_all()?;
    File::open(data_dir)?.sync_all()?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn is_made_once_and_readable_by_the_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let first = admin_token(None, directory.path()).unwrap();
        let again = admin_token(None, directory.path()).unwrap();
        assert_eq!(first.token.expose(), again.token.expose());
        assert_eq!(first.token.expose().len(), 64);
        let mode = fs::metadata(first.file.unwrap())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let configured = admin_token(Some(&Secret::new("own")), directory.path()).unwrap();
        assert_eq!((configured.token.expose(), configured.file), ("own", None));
    }
}
