//! Describes this process to the other nodes.

use crate::config::Config;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::LazyLock;
use std::time::SystemTime;
use tintype_storage::domain::node::NodeProcess;
use tintype_storage::domain::time::Timestamp;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds from source may have the same version and different code. The executable tells them apart: `0.1.0+5d0c9a31`.
static BUILD: LazyLock<String> = LazyLock::new(|| {
    let checksum = std::env::current_exe().and_then(|it| checksum(&it));
    // Without the executable, the version alone must do.
    checksum.map_or(VERSION.into(), |it| format!("{VERSION}+{it:08x}"))
});

/// `is_cluster`: other processes may use the same records. Then the version names the executable, which is read once.
pub async fn node_process(config: &Config, started: SystemTime, is_cluster: bool) -> NodeProcess {
    let build = || tokio::task::spawn_blocking(|| BUILD.as_str());
    let build = if is_cluster { build().await.ok() } else { None };
    let since_epoch = started.duration_since(SystemTime::UNIX_EPOCH);
    let millis = since_epoch.map_or(0, |it| it.as_millis());
    NodeProcess {
        version: build.unwrap_or(VERSION).to_owned(),
        host: host(),
        pid: std::process::id(),
        started_at: Timestamp::from_millis(i64::try_from(millis).unwrap_or_default()),
        configuration: config.fingerprint(),
    }
}

/// The CRC-32 of a file, which need not fit into memory.
fn checksum(path: &Path) -> io::Result<u32> {
    let mut file = File::open(path)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// The name of this machine, for people. Processes on machines without a name differ by their id.
pub fn host() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    host.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    #[test]
    fn files_with_different_content_have_different_checksums() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tintype");
        let checksum_of = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            checksum(&path).unwrap()
        };
        // The check value of this CRC.
        assert_eq!(checksum_of(b"123456789"), 0xcbf4_3926);
        let long = vec![7; 200_000];
        assert_ne!(checksum_of(&long), checksum_of(&long[1..]));
        assert!(checksum(directory.path()).is_err());
    }

    #[actix_web::test]
    async fn only_the_version_of_a_node_names_its_executable() {
        let config = Config::load(&Sources::default()).unwrap();
        let version = async |is_cluster| {
            let process = node_process(&config, SystemTime::now(), is_cluster).await;
            process.version
        };
        assert_eq!(version(false).await, VERSION);
        let expected = checksum(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(version(true).await, format!("{VERSION}+{expected:08x}"));
    }
}
