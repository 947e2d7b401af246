//! A private PostgreSQL server for tests, in a temporary directory, with a database for each test.

mod pooler;
pub mod proxy;
mod standby;

pub use pooler::{Pooler, has_pooler};

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::{env, fs};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// The number of ports that servers of tests choose from.
const PORTS: u32 = 10_000;
/// If set, tests that need PostgreSQL fail if it is not installed.
const DEMAND: &str = "TINTYPE_TEST_POSTGRES";

/// The user that PostgreSQL's package creates.
const OWNER: &str = "postgres";

/// The server's settings: fast, because no test cuts the machine's power.
const SETTINGS: &str = "fsync = off\nfull_page_writes = off\nmax_connections = 500\nshared_buffers = 64MB\n\
     ssl = on\nssl_cert_file = 'server.crt'\nssl_key_file = 'server.key'\nautovacuum_naptime = 5s\n";

/// The settings for benchmarks: each commit is durable before it is answered.
const DURABLE: &str =
    "fsync = on\nfull_page_writes = on\nshared_buffers = 1GB\nmax_wal_size = 4GB\n";

/// Access rules: the role `guarded` needs its password.
const ACCESS: &str = "local all all trust\nhost all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n\
     host replication all 127.0.0.1/32 trust\n";

/// A running server. Dropping it, or any end of the process, stops the server and deletes its directory.
pub struct Server {
    programs: PathBuf,
    home: TempDir,
    port: u16,
    /// Runs as long as its stdin is open, and then stops the server.
    keeper: Child,
    /// Started on first use.
    pooler: OnceLock<Pooler>,
}

/// The server that the tests of one process share; `None` if PostgreSQL is not installed.
///
/// # Panics
/// PostgreSQL is not installed although the environment requires it, or the server does not start.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

impl Server {
    /// Starts a separate server; `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// See [`server`].
    pub fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts a server whose commits survive a machine failure, for benchmarks.
    ///
    /// # Panics
    /// See [`server`].
    pub fn start_durable() -> Option<Self> {
        Self::start_with(DURABLE)
    }

    fn start_with(settings: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(
                env::var_os(DEMAND).is_none(),
                "PostgreSQL's programs are not there: install the package `postgresql`"
            );
            eprintln!("not run: PostgreSQL's programs are not there");
            return None;
        };
        let (home, port) = (new_home(), free_port());
        prepare(&programs, &home, port, settings);
        Some(Self::launch(programs, home, port))
    }

    fn launch(programs: PathBuf, home: TempDir, port: u16) -> Self {
        let mut keeper = unprivileged(&home, "sh");
        keeper
            .arg("-c")
            .arg(
                "cd \"$2\" && \"$1/pg_ctl\" -D data -w -l log start >/dev/null && echo started && cat >/dev/null; \
                 \"$1/pg_ctl\" -D data -m immediate stop >/dev/null; rm -rf \"$2\"",
            )
            .args(["sh".as_ref(), programs.as_os_str(), home.path().as_os_str()]);
        let mut keeper = keeper
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let mut output = std::io::BufReader::new(keeper.stdout.take().expect("a pipe"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut output, &mut line).expect("a line");
        let log = fs::read_to_string(home.path().join("log")).unwrap_or_default();
        assert_eq!(line.trim(), "started", "{log}");
        Self {
            programs,
            home,
            port,
            keeper,
            pooler: OnceLock::new(),
        }
    }

    /// The URL of a database for a role.
    pub fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }

    /// The same over the server's socket.
    fn socket_url(&self, role: &str, database: &str) -> String {
        let directory = self.socket().display().to_string().replace('/', "%2F");
        format!("postgres://{role}@{directory}:{}/{database}", self.port)
    }

    /// The directory of the server's socket.
    pub fn socket(&self) -> &Path {
        self.home.path()
    }

    /// The server's certificate, which names `localhost`.
    pub fn certificate(&self) -> PathBuf {
        self.home.path().join("root.crt")
    }

    /// The id of the server's first process.
    ///
    /// # Panics
    /// The server does not run.
    pub fn id(&self) -> u32 {
        let file = fs::read_to_string(self.home.path().join("data/postmaster.pid"));
        let file = file.expect("a running server");
        let id = file.lines().next().and_then(|line| line.parse().ok());
        id.expect("an id")
    }

    /// The path of one of PostgreSQL's programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Creates an empty database.
    ///
    /// # Panics
    /// The server refuses.
    pub fn database(&self) -> Database<'_> {
        let number: u64 = rand::random();
        let name = format!("test_{number:016x}");
        self.execute(
            "postgres",
            &format!("CREATE DATABASE {name} TEMPLATE template0"),
        );
        Database { server: self, name }
    }

    /// Runs statements in a database, as the superuser.
    ///
    /// # Panics
    /// A statement fails.
    pub fn execute(&self, database: &str, statements: &str) {
        self.query(database, statements);
    }

    /// The first column of the last statement's result.
    ///
    /// # Panics
    /// A statement fails.
    pub fn query(&self, database: &str, statements: &str) -> Vec<String> {
        query(self.url("postgres", database), statements)
    }

    /// Crashes the server and starts it again.
    ///
    /// # Panics
    /// The server does not start.
    pub fn crash(&self) {
        self.control(&["restart", "-m", "immediate", "-l", "log"]);
    }

    /// Commits wait from now on for a standby that does not exist. Reads go on.
    ///
    /// # Panics
    /// The setting cannot be changed.
    pub fn hold_commits(&self) {
        self.set_standbys("SET synchronous_standby_names = 'absent'");
    }

    /// Ends [`Server::hold_commits`].
    ///
    /// # Panics
    /// The setting cannot be changed.
    pub fn release_commits(&self) {
        self.set_standbys("RESET synchronous_standby_names");
    }

    fn set_standbys(&self, change: &str) {
        self.execute("postgres", &format!("ALTER SYSTEM {change}"));
        self.execute("postgres", "SELECT pg_reload_conf()");
    }

    /// Stops the server as a crash would.
    ///
    /// # Panics
    /// The server does not stop.
    pub fn stop(&self) {
        self.control(&["stop", "-m", "immediate"]);
    }

    /// Starts the server after [`Server::stop`].
    ///
    /// # Panics
    /// The server does not start.
    pub fn start_again(&self) {
        self.control(&["start", "-l", "log"]);
    }

    /// Makes the server read-only.
    ///
    /// # Panics
    /// The server does not start.
    pub fn make_standby(&self) {
        self.control(&["stop", "-m", "fast"]);
        private(&self.home.path().join("data/standby.signal"), "");
        own(&self.home);
        self.start_again();
    }

    fn control(&self, arguments: &[&str]) {
        let output = unprivileged(&self.home, self.programs.join("pg_ctl"))
            .args(["-D", "data", "-w"])
            .args(arguments)
            .stdout(Stdio::null())
            .status();
        assert!(output.expect("pg_ctl").success(), "pg_ctl {arguments:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The keeper ends now; the system cleans up a directory that could not be deleted.
        drop(self.keeper.wait());
    }
}

/// An empty database, dropped with this value.
pub struct Database<'a> {
    pub server: &'a Server,
    pub name: String,
}

impl Database<'_> {
    /// The URL as the superuser.
    pub fn url(&self) -> String {
        match pooler::is_wanted() {
            true => self.pooled_url(),
            false => self.server.url("postgres", &self.name),
        }
    }

    /// The port in the URL.
    pub fn port(&self) -> u16 {
        match pooler::is_wanted() {
            true => self.server.pooler().port(),
            false => self.server.port,
        }
    }

    /// The URL through a pooler.
    pub fn pooled_url(&self) -> String {
        format!("{}&pooler=1", self.server.pooler().url(&self.name))
    }

    /// The URL over the server's socket.
    pub fn socket_url(&self) -> String {
        self.server.socket_url("postgres", &self.name)
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            self.server.execute("postgres", &drop);
        }
    }
}

/// The first column of the last statement's result.
fn query(url: String, statements: &str) -> Vec<String> {
    let statements = statements.to_owned();
    // On a separate thread: the caller may run inside a runtime.
    let work = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
            tokio::spawn(connection);
            client.simple_query(&statements).await
        })
    });
    let messages = work.join().expect("no panic").expect("the statements");
    let mut found = Vec::new();
    for message in messages {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            found.push(row.get(0).unwrap_or_default().to_owned());
        }
    }
    found
}

/// The directory of PostgreSQL's programs.
fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let has_initdb = |folder: &PathBuf| folder.join("initdb").exists();
    let resolved = |folder: PathBuf| {
        let program = fs::canonicalize(folder.join("initdb")).ok()?;
        program.parent().map(Path::to_owned)
    };
    if let Some(folder) = env::split_paths(&path).find(has_initdb) {
        return resolved(folder);
    }
    // Debian keeps them out of the path.
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|it| Some(it.ok()?.path().join("bin")));
    folders.filter(has_initdb).max()
}

/// A command in the directory, not as root, which PostgreSQL refuses.
fn unprivileged(home: &TempDir, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command
                .args([
                    format!("--reuid={OWNER}"),
                    format!("--regid={OWNER}"),
                    "--clear-groups".into(),
                ])
                .arg(program);
            command
        }
        false => Command::new(program),
    };
    command.current_dir(home.path());
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// A new directory for a server.
fn new_home() -> TempDir {
    TempDir::with_prefix("tintype-postgres-").expect("a directory")
}

fn prepare(programs: &Path, home: &TempDir, port: u16, further: &str) {
    own(home);
    let made = unprivileged(home, programs.join("initdb"))
        .args([
            "-D",
            "data",
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ])
        .stdout(Stdio::null())
        .status();
    assert!(made.expect("initdb").success(), "initdb");
    let data = home.path().join("data");
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a key");
    fs::write(data.join("server.crt"), key.cert.pem()).expect("written");
    fs::write(home.path().join("root.crt"), key.cert.pem()).expect("written");
    private(&data.join("server.key"), &key.signing_key.serialize_pem());
    fs::write(data.join("pg_hba.conf"), ACCESS).expect("written");
    let settings = format!("{SETTINGS}{further}listen_addresses = '127.0.0.1'\n");
    append_settings(home, port, &settings);
    own(home);
}

/// Appends settings to those of the server. The last setting of a name counts.
fn append_settings(home: &TempDir, port: u16, settings: &str) {
    let path = home.path().join("data/postgresql.conf");
    let file = fs::OpenOptions::new().append(true).open(path);
    let socket = home.path().display();
    let settings = format!("{settings}port = {port}\nunix_socket_directories = '{socket}'\n");
    let written = file.and_then(|mut it| it.write_all(settings.as_bytes()));
    written.expect("the settings");
}

fn private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("private");
}

/// Gives the directory to the server's user.
fn own(home: &TempDir) {
    if is_root() {
        let owner = format!("{OWNER}:{OWNER}");
        let given = Command::new("chown")
            .args(["-R", &owner])
            .arg(home.path())
            .status();
        assert!(given.expect("chown").success(), "chown");
    }
}

/// A free port below those that Linux gives to clients and to listeners without a number. So no other process takes the port before
/// the server listens, or while it restarts. A process gets each port once.
///
/// # Panics
/// All ports are in use.
pub fn free_port() -> u16 {
    static FIRST: LazyLock<u32> = LazyLock::new(|| rand::random_range(0..PORTS));
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    (0..PORTS)
        .map(|_| *FIRST + GIVEN.fetch_add(1, Ordering::Relaxed))
        .map(|number| 20_000 + (number % PORTS) as u16)
        .find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}
