//! A second server that follows the first one and can be promoted.

use super::{Server, append_settings, free_port, new_home, own, unprivileged};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The name in `synchronous_standby_names`.
const NAME: &str = "standby";

impl Server {
    /// Starts a standby of this server. From then on each commit is on both servers before it is answered.
    ///
    /// # Panics
    /// The standby does not start or does not follow.
    pub fn standby(&self) -> Server {
        let (home, port) = (new_home(), free_port());
        own(&home);
        let primary = self.port;
        let primary =
            format!("host=127.0.0.1 port={primary} user=postgres application_name={NAME}");
        let copied = unprivileged(&home, self.programs.join("pg_basebackup"))
            .args([
                "-D",
                "data",
                "-R",
                "-c",
                "fast",
                "--no-sync",
                "-d",
                &primary,
            ])
            .stdout(Stdio::null())
            .status();
        assert!(copied.expect("pg_basebackup").success(), "pg_basebackup");
        append_settings(&home, port, "");
        let standby = Self::launch(self.programs.clone(), home, port);
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{NAME}'");
        self.execute("postgres", &set);
        self.execute("postgres", "SELECT pg_reload_conf()");
        let follows = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.query("postgres", follows).is_empty() {
            assert!(Instant::now() < deadline, "the standby does not follow");
        }
        standby
    }

    /// Promotes a standby. Its own commits wait for no other server.
    ///
    /// # Panics
    /// The server is not a standby.
    pub fn promote(&self) {
        self.control(&["promote"]);
        self.execute("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
        self.execute("postgres", "SELECT pg_reload_conf()");
    }
}
