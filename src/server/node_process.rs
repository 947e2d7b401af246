//! Describes this process to the other nodes.

use crate::config::Config;
use std::time::SystemTime;
use tintype_storage::domain::node::NodeProcess;
use tintype_storage::domain::time::Timestamp;

pub fn node_process(config: &Config, started: SystemTime) -> NodeProcess {
    let since_epoch = started.duration_since(SystemTime::UNIX_EPOCH);
    let millis = since_epoch.map_or(0, |it| it.as_millis());
    NodeProcess {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host(),
        pid: std::process::id(),
        started_at: Timestamp::from_millis(i64::try_from(millis).unwrap_or_default()),
        configuration: config.fingerprint(),
    }
}

/// The name of this machine, for people. Processes on machines without a name differ by their id.
pub fn host() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    host.to_string_lossy().into_owned()
}
