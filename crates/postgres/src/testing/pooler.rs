//! PgBouncer in front of a server, with fewer connections to it than the engines have to the pooler.

use super::{Server, free_port, own, query, unprivileged};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};
use tempfile::TempDir;

/// Where it is set, the databases of the tests are reached through a pooler.
const POOLED: &str = "TINTYPE_TEST_POOLER";

/// Where Debian keeps it, out of the path of most users.
const DEBIAN: &str = "/usr/sbin";

/// Connections to each database, so few that transactions of all clients share them.
const CONNECTIONS: u32 = 5;

/// A running pooler, which ends when this is dropped or the process ends in any way.
pub struct Pooler {
    port: u16,
    /// Lives as long as its input is open, and takes the pooler with it.
    keeper: Child,
    _home: TempDir,
}

/// Are the databases of the tests to be reached through a pooler?
pub fn is_wanted() -> bool {
    env::var_os(POOLED).is_some_and(|it| !it.is_empty())
}

/// Can a pooler be started?
///
/// # Panics
/// It is not installed, and the environment demands it.
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
    /// The pooler in front of the server, which gives each transaction any of its connections.
    ///
    /// # Panics
    /// PgBouncer does not start.
    pub fn pooler(&self) -> &Pooler {
        self.pooler.get_or_init(|| Pooler::start(self.port, ""))
    }

    /// A further one, which leaves out what it does not know of a client's settings.
    ///
    /// # Panics
    /// PgBouncer does not start.
    pub fn lax_pooler(&self) -> Pooler {
        Pooler::start(self.port, "ignore_startup_parameters = options\n")
    }

    /// What a client of the pooler gets: the first column of the last statement's answer.
    ///
    /// # Panics
    /// PgBouncer does not start, or one of the statements fails.
    pub fn query_pooled(&self, database: &str, statements: &str) -> Vec<String> {
        query(self.pooler().url(database), statements)
    }
}

impl Pooler {
    /// The URL of a database, which does not say that there is a pooler.
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://postgres@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn start(server: u16, further: &str) -> Self {
        let home = tempfile::Builder::new()
            .prefix("tintype-pgbouncer-")
            .tempdir()
            .expect("a directory");
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
        // It ends now.
        drop(self.keeper.wait());
    }
}
