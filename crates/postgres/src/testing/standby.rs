//! A second server that follows the first one and can be promoted.

use super::{Server, free_port, own, unprivileged};
use std::io::Write as _;
use std::process::Stdio;
use std::{fs, time};

/// The name in `synchronous_standby_names`.
const NAME: &str = "standby";

impl Server {
    /// Starts a standby of this server. From then on each commit is on both servers before it is answered.
    ///
    /// # Panics
    /// The standby does not start or does not follow.
    pub fn standby(&self) -> Server {
        let home = tempfile::Builder::new()
            .prefix("tintype-postgres-")
            .tempdir()
            .expect("a directory");
        own(&home);
        let (primary, port) = (self.port, free_port());
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
        let path = home.path().join("data/postgresql.conf");
        let file = fs::OpenOptions::new().append(true).open(path);
        let settings = format!(
            "port = {port}\nunix_socket_directories = '{}'\n",
            home.path().display()
        );
        let written = file.and_then(|mut it| it.write_all(settings.as_bytes()));
        written.expect("the settings");
        let standby = Self::launch(self.programs.clone(), home, port);
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{NAME}'");
        self.execute("postgres", &set);
        self.execute("postgres", "SELECT pg_reload_conf()");
        let follows = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
        let deadline = time::Instant::now() + time::Duration::from_secs(60);
        while self.query("postgres", follows).is_empty() {
            assert!(time::Instant::now() < deadline, "it does not follow");
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
