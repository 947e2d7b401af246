//! PgBouncer in front of a server, with fewer server connections than the engines open.

use super::{Server, free_port, own, query, unprivileged};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};
use tempfile::TempDir;

/// If set, the tests reach their databases through a pooler.
const POOLED: &str = "TINTYPE_TEST_POOLER";

/// Debian installs PgBouncer here, outside most users' path.
const DEBIAN: &str = "/usr/sbin";

/// Connections per database: few enough that all clients share them.
const CONNECTIONS: u32 = 5;

/// A running pooler. It ends when dropped or with the process.
pub struct Pooler {
    port: u16,
    /// Runs as long as its stdin is open, and then stops the pooler.
    keeper: Child,
    _home: TempDir,
}

/// Should the tests reach their databases through a pooler?
pub fn is_wanted() -> bool {
    env::var_os(POOLED).is_some_and(|it| !it.is_empty())
}

/// Can a pooler be started?
///
/// # Panics
/// PgBouncer is not installed although the environment requires it.
pub fn has_pooler() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path)
        .chain([DEBIAN.into()])
        .any(|folder| folder.join("pgbouncer").exists());
    assert!(
        is_there || env::var_os(super::DEMAND).is_none(),
        "PgBouncer is not there: install the package `pgbouncer`"
    );
    is_there
}

impl Server {
    /// A transaction-pooling PgBouncer in front of the server.
    ///
    /// # Panics
    /// PgBouncer does not start.
    pub fn pooler(&self) -> &Pooler {
        self.pooler.get_or_init(|| Pooler::start(self.port, ""))
    }

    /// Another PgBouncer, which ignores unknown startup parameters.
    ///
    /// # Panics
    /// PgBouncer does not start.
    pub fn lax_pooler(&self) -> Pooler {
        Pooler::start(self.port, "ignore_startup_parameters = options\n")
    }

    /// Runs statements through the pooler: the first column of the last statement's result.
    ///
    /// # Panics
    /// PgBouncer does not start, or a statement fails.
    pub fn query_pooled(&self, database: &str, statements: &str) -> Vec<String> {
        query(self.pooler().url(database), statements)
    }
}

impl Pooler {
    /// The URL of a database, without the `pooler` parameter.
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://postgres@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn start(server: u16, further: &str) -> Self {
        let home = TempDir::with_prefix("tintype-pgbouncer-").expect("a directory");
        let port = free_port();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = {CONNECTIONS}\nmax_client_conn = 1000\n\
             server_login_retry = 1\nlogfile = log\n{further}"
        );
        fs::write(home.path().join("pgbouncer.ini"), settings).expect("written");
        own(&home);
        let script = format!(
            "PATH=\"$PATH:{DEBIAN}\"; pgbouncer -q pgbouncer.ini & pooler=$!; cat >/dev/null; kill $pooler; wait $pooler; rm -rf \"$1\""
        );
        let keeper = unprivileged(&home, "sh")
            .args(["-c", &script, "sh"])
            .arg(home.path())
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh");
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(home.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "PgBouncer does not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            port,
            keeper,
            _home: home,
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The keeper ends now.
        drop(self.keeper.wait());
    }
}
