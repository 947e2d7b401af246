//! The operator's token: configured, derived from the cluster secret, or created at the first start in a file that only its owner
//! can read.

use crate::config::{Config, Secret};
use crate::private_file;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "admin-token";
const BYTES: usize = 32;

/// The path of the operator's token in a data directory.
pub fn token_file(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE_NAME)
}

pub struct AdminToken {
    pub token: Secret,
    /// The file that holds the token. `None` if the token is configured.
    pub file: Option<PathBuf>,
}

/// Derives a key for one purpose from the cluster secret: HMAC-SHA256 (RFC 2104) of the purpose's name.
pub fn derive_key(secret: &Secret, purpose: &str) -> [u8; BYTES] {
    let keyed = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes());
    let mut keyed = keyed.expect("HMAC takes a key of any length");
    keyed.update(b"tintype ");
    keyed.update(purpose.as_bytes());
    keyed.finalize().into_bytes().into()
}

/// Returns the token of a node: the configured one, or one derived from the cluster secret. Writes a derived token to the node's data
/// directory, where the operator and the commands look for it.
pub fn admin_token_of_node(config: &Config, cluster_secret: &Secret) -> io::Result<AdminToken> {
    if config.admin.token.is_some() {
        return admin_token(config);
    }
    let data_dir = &config.storage.data_dir;
    let path = token_file(data_dir);
    let token = hex::encode(derive_key(cluster_secret, "admin-token"));
    if fs::read_to_string(&path).is_ok_and(|it| it.trim() != token) {
        fs::remove_file(&path)?;
    }
    write_once(data_dir, &token)?;
    Ok(AdminToken {
        token: Secret::new(&token),
        file: Some(path),
    })
}

/// Returns the configured token, or the one in the data directory. Creates a missing one.
pub fn admin_token(config: &Config) -> io::Result<AdminToken> {
    if let Some(token) = &config.admin.token {
        return Ok(AdminToken {
            token: token.clone(),
            file: None,
        });
    }
    let data_dir = &config.storage.data_dir;
    let path = token_file(data_dir);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_once(data_dir, &hex::encode(rand::random::<[u8; BYTES]>()))?;
            fs::read_to_string(&path)
        }
        read => read,
    }?;
    let text = text.trim();
    if text.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
    }
    Ok(AdminToken {
        token: Secret::new(text),
        file: Some(path),
    })
}

fn write_once(data_dir: &Path, token: &str) -> io::Result<()> {
    private_file::create_once(data_dir, FILE_NAME, format!("{token}\n").as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread;

    const OWN: &str = "the-token-of-the-configuration-0123456789";

    fn config(data_dir: &Path, set: &[(&str, &str)]) -> Config {
        let data_dir = [("storage.data_dir", data_dir.to_str().unwrap())];
        let flags = data_dir.iter().chain(set);
        let flag =
            |(key, value): &(&str, &str)| ((*key).to_owned(), toml::Value::String((*value).into()));
        Config::load(&Sources {
            flags: flags.map(flag).collect(),
            ..Sources::default()
        })
        .unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_token_is_created_once_and_only_its_owner_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let bare = config(directory.path(), &[]);
        let first = admin_token(&bare).unwrap();
        let again = admin_token(&bare).unwrap();
        assert_eq!(first.token.expose(), again.token.expose());
        assert_eq!(first.token.expose().len(), 64);
        assert_eq!(mode(&first.file.unwrap()), 0o600);
        let own = config(directory.path(), &[("admin.token", OWN)]);
        let configured = admin_token(&own).unwrap();
        assert_eq!((configured.token.expose(), configured.file), (OWN, None));
    }

    #[test]
    fn processes_that_start_at_once_have_one_token() {
        let directory = tempfile::tempdir().unwrap();
        let bare = config(directory.path(), &[]);
        let start = || admin_token(&bare).unwrap().token.expose().to_owned();
        let tokens = thread::scope(|scope| {
            let starts = [(); 8].map(|()| scope.spawn(start));
            starts.map(|it| it.join().unwrap())
        });
        assert!(tokens.iter().all(|it| *it == start()), "{tokens:?}");
    }

    #[test]
    fn all_nodes_with_the_same_cluster_secret_have_the_same_token() {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        // A node ignores the token that its data directory had before.
        admin_token(&config(directories[0].path(), &[])).unwrap();
        let common = Secret::new("what the nodes have in common");
        let tokens = directories.each_ref().map(|directory| {
            let found = admin_token_of_node(&config(directory.path(), &[]), &common).unwrap();
            let file = found.file.unwrap();
            assert_eq!(mode(&file), 0o600);
            assert_eq!(
                fs::read_to_string(file).unwrap().trim(),
                found.token.expose()
            );
            found.token.expose().to_owned()
        });
        assert_eq!(tokens[0], tokens[1]);
        let other = Secret::new("what other nodes have in common");
        let bare = config(directories[0].path(), &[]);
        let other = admin_token_of_node(&bare, &other).unwrap();
        assert_ne!(other.token.expose(), tokens[0]);
        let own = config(directories[0].path(), &[("admin.token", OWN)]);
        let configured = admin_token_of_node(&own, &common).unwrap();
        assert_eq!(configured.token.expose(), OWN);
    }
}
