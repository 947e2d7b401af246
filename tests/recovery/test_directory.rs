//! Runs the binary in a temporary directory.

use crate::client::{Client, Connection};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The limit of every wait; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(10);
const HEALTH: &str = "GET /healthz HTTP/1.1";

/// Polls until there is a value.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::sleep(POLL);
    }
    panic!("timed out waiting until {what}");
}

/// A temporary directory with the settings of the binary.
pub struct TestDirectory {
    dir: tempfile::TempDir,
    settings: Vec<(String, String)>,
    services: AtomicUsize,
}

impl TestDirectory {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// With settings such as `("JOBS__MAX_RUNS", "1")`.
    pub fn with(settings: &[(&str, &str)]) -> Self {
        let mut place = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            settings: Vec::new(),
            services: AtomicUsize::new(0),
        };
        // Off, because callers under load exceed the default rate.
        place.set("LIMITS__FETCHES_PER_SECOND", "0");
        // Off, so that nodes stop without a delay.
        place.set("SERVER__DRAIN_SECONDS", "0");
        for (key, value) in settings {
            place.set(key, value);
        }
        place
    }

    /// Changes a setting for later commands.
    pub fn set(&mut self, key: &str, value: &str) {
        let key = format!("TINTYPE__{key}");
        self.settings.retain(|(it, _)| *it != key);
        self.settings.push((key, value.to_owned()));
    }

    /// Sets an environment variable that is not a Tintype setting.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// The binary, without the settings in the environment of the test.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TINTYPE") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.dir.path())
            .envs(self.settings.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = self.command(BINARY);
        command.args(arguments).arg("--data-dir").arg(self.data());
        CommandOutput::of(command.output().expect("the binary"))
    }

    /// Runs a command that uses no data directory.
    pub fn run_without_data(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = self.command(BINARY);
        CommandOutput::of(command.args(arguments).output().expect("the binary"))
    }

    pub fn serve(&self) -> Service {
        let mut service = self.begin_to_serve(self.command(BINARY));
        service.wait_until_ready();
        service
    }

    /// Starts the service through `command`, which runs the binary with its arguments.
    pub fn begin_to_serve(&self, mut command: Command) -> Service {
        let number = self.services.fetch_add(1, Ordering::Relaxed);
        let [out, err] = ["out", "err"].map(|name| self.path(&format!("{name}-{number}")));
        let file = |path: &Path| File::create(path).expect("a file to print into");
        let child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(self.data())
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn();
        Service {
            child: child.expect("the binary"),
            out,
            err,
            greeting: String::new(),
        }
    }

    /// The operator's token, which the first start creates.
    pub fn token(&self) -> String {
        let text = std::fs::read_to_string(self.data().join("admin-token"));
        text.expect("a token").trim().to_owned()
    }

    pub fn objects(&self, folder: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.data().join("objects").join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path);
                }
            }
        }
        found
    }
}

pub const BINARY: &str = env!("CARGO_BIN_EXE_tintype");

/// A finished command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl CommandOutput {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks that the command failed with a message that holds these words.
    pub fn assert_fault(&self, words: &[&str]) {
        assert_eq!(self.code, Some(1), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in {self:?}");
        }
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}

fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a file that was printed into");
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn signal(name: &str, pid: u32) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status();
    assert!(status.expect("sh").success(), "kill -{name} {pid}");
}

/// The service as a child process. Dropping it kills the process.
pub struct Service {
    child: Child,
    /// The files with its output and log.
    out: PathBuf,
    err: PathBuf,
    /// The output until the service was ready.
    pub greeting: String,
}

impl Service {
    /// Waits for the first answer; the startup output is complete by then.
    pub fn wait_until_ready(&mut self) {
        let ready = until("the service is ready or has ended", || {
            if self.status().is_some() {
                return Some(false);
            }
            self.try_ready().then_some(true)
        });
        assert!(ready, "{}", self.end());
    }

    pub fn try_ready(&mut self) -> bool {
        self.greeting = read(&self.out);
        let address = || {
            let (_, rest) = self.greeting.split_once("ready at http://")?;
            Some(rest.split_once(char::is_whitespace)?.0)
        };
        let Some(mut connection) = address().and_then(|it| Connection::open(it).ok()) else {
            return false;
        };
        let answers = connection.call(HEALTH, "").is_ok_and(|it| it.status == 200);
        self.greeting = read(&self.out);
        answers
    }

    /// The output so far.
    pub fn output(&self) -> String {
        read(&self.out)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn address(&self) -> String {
        let (_, rest) = self.greeting.split_once("http://").expect("an address");
        rest.split_whitespace().next().expect("it").to_owned()
    }

    /// The printed API key.
    pub fn printed_key(&self) -> Option<String> {
        let word = |word: &&str| word.starts_with("tt_") && word.len() == 52;
        self.greeting
            .split_whitespace()
            .find(word)
            .map(str::to_owned)
    }

    pub fn client(&self, key: &str) -> Client {
        Client::new(&self.address(), key)
    }

    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("its status")
    }

    /// The log so far.
    pub fn log(&self) -> String {
        read(&self.err)
    }

    /// Waits for the exit and returns the exit code.
    pub fn code(&mut self) -> Option<i32> {
        until("the service ends", || self.status()).code()
    }

    /// Requests a graceful shutdown.
    pub fn terminate(&self) {
        signal("TERM", self.child.id());
    }

    /// Shuts down gracefully.
    pub fn stop(mut self) {
        self.terminate();
        let code = self.code();
        assert_eq!(code, Some(0), "{}", self.end());
    }

    /// Like a power cut, except that the disk keeps all writes.
    pub fn kill(&mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("its end");
    }

    /// Kills the process if it is running, and returns its log.
    pub fn end(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        read(&self.err)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}
