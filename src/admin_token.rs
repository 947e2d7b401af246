//! The operator's token: configured, derived from the cluster secret, or created at the first start in a file that only its owner
//! can read.

use crate::cluster_secret::derive_key;
use crate::config::{Config, Secret, random_text};
use crate::private_file;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "admin-token";
const BYTES: usize = 32;

/// The path of the operator's token in a data directory.
pub fn token_file(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE_NAME)
}

/// The configured token, or the one in the data directory. Creates a missing one.
pub fn load(config: &Config) -> io::Result<Secret> {
    if let Some(token) = &config.admin.token {
        return Ok(token.clone());
    }
    let data_dir = &config.storage.data_dir;
    let new = || line(&hex::encode(rand::random::<[u8; BYTES]>()));
    let bytes = private_file::read_or_create(data_dir, FILE_NAME, new)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if text.is_empty() {
        return Err(invalid("it is empty".to_owned()));
    }
    random_text(text).map_err(|expected| invalid(format!("it does not contain {expected}")))
}

/// The token of a node: the configured one, or one derived from the cluster secret. Writes a derived token to the node's data
/// directory, where the operator and the commands look for it.
pub fn load_of_node(config: &Config, cluster_secret: &Secret) -> io::Result<Secret> {
    if let Some(token) = &config.admin.token {
        return Ok(token.clone());
    }
    let data_dir = &config.storage.data_dir;
    let token = hex::encode(derive_key(cluster_secret, "admin-token"));
    let earlier = private_file::read(data_dir, FILE_NAME)?;
    if earlier.is_some_and(|it| it.trim_ascii() != token.as_bytes()) {
        fs::remove_file(token_file(data_dir))?;
    }
    private_file::create_once(data_dir, FILE_NAME, &line(&token))?;
    Ok(Secret::new(&token))
}

/// The content of the file.
fn line(token: &str) -> Vec<u8> {
    format!("{token}\n").into_bytes()
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
        let first = load(&bare).unwrap();
        let again = load(&bare).unwrap();
        assert_eq!(first.expose(), again.expose());
        assert_eq!(first.expose().len(), 64);
        assert_eq!(mode(&directory.path().join(FILE_NAME)), 0o600);
    }

    #[test]
    fn a_configured_token_is_not_written_to_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let own = config(directory.path(), &[("admin.token", OWN)]);
        assert_eq!(load(&own).unwrap().expose(), OWN);
        assert!(!directory.path().join(FILE_NAME).exists());
    }

    #[test]
    fn processes_that_start_at_once_have_one_token() {
        let directory = tempfile::tempdir().unwrap();
        let bare = config(directory.path(), &[]);
        let start = || load(&bare).unwrap().expose().to_owned();
        let tokens = thread::scope(|scope| {
            let starts = [(); 8].map(|()| scope.spawn(start));
            starts.map(|it| it.join().unwrap())
        });
        assert!(tokens.iter().all(|it| *it == start()), "{tokens:?}");
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let bare = config(directory.path(), &[]);
        let cluster = Secret::new("what the nodes have in common");
        load_of_node(&bare, &cluster).unwrap();
        let open = fs::Permissions::from_mode(0o644);
        fs::set_permissions(token_file(directory.path()), open).unwrap();
        for refused in [load(&bare), load_of_node(&bare, &cluster)] {
            let error = refused.err().unwrap().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn all_nodes_with_the_same_cluster_secret_have_the_same_token() {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        // A node ignores the token that its data directory had before.
        load(&config(directories[0].path(), &[])).unwrap();
        let common = Secret::new("what the nodes have in common");
        let tokens = directories.each_ref().map(|directory| {
            let found = load_of_node(&config(directory.path(), &[]), &common).unwrap();
            let file = directory.path().join(FILE_NAME);
            assert_eq!(mode(&file), 0o600);
            assert_eq!(fs::read_to_string(file).unwrap().trim(), found.expose());
            found.expose().to_owned()
        });
        assert_eq!(tokens[0], tokens[1]);
        let other = Secret::new("what other nodes have in common");
        let bare = config(directories[0].path(), &[]);
        let other = load_of_node(&bare, &other).unwrap();
        assert_ne!(other.expose(), tokens[0]);
        let own = config(directories[0].path(), &[("admin.token", OWN)]);
        let configured = load_of_node(&own, &common).unwrap();
        assert_eq!(configured.expose(), OWN);
    }
}
