//! Running the real binary: commands to their end, and servers until they are told to stop.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(10);

/// Looks again and again until there is something, and gives up loudly after a minute.
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        thread::sleep(STEP);
    }
}

/// The binary with these words, in a directory, knowing nothing of the environment's configuration.
pub fn tintype(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tintype"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TINTYPE_")) {
        command.env_remove(name);
    }
    command.current_dir(directory).args(words);
    command
}

/// Runs a command to its end with this on its standard input.
pub fn run(mut command: Command, input: &[u8]) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may have closed it.
    let _ = child.stdin.take().unwrap().write_all(input);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    Ended {
        code: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ended {
    /// What it printed, once it has succeeded.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// What it complained of, once it has failed with exit code 1.
    #[track_caller]
    pub fn bad(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        self.err
    }
}

/// A command that runs until it is told to stop.
pub struct Running {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Running {
    /// Starts it.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        collect(child.stdout.take().unwrap(), Arc::clone(&lines));
        collect(child.stderr.take().unwrap(), Arc::clone(&lines));
        Self { child, lines }
    }

    /// What it has printed so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Waits for a line for which there is something.
    pub fn line<T>(&self, what: &str, look: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let lines = self.lines();
            if let Some(found) = lines.iter().find_map(|line| look(line)) {
                return found;
            }
            assert!(Instant::now() < deadline, "no line with {what}: {lines:#?}");
            thread::sleep(STEP);
        }
    }

    /// What stands in a line after these words.
    pub fn after(&self, words: &str) -> String {
        self.line(words, |line| {
            line.split_once(words)
                .map(|(_, rest)| rest.trim().to_owned())
        })
    }

    /// Sends SIGTERM and waits for the end; returns the exit code.
    pub fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        until_some("it has ended", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already when the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(stream: impl Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            lines.lock().unwrap().push(line);
        }
    });
}

/// A running service with a data directory of its own.
pub struct Service {
    /// The working directory; the data are in `data` below it.
    pub directory: TempDir,
    /// Where it is.
    pub url: String,
    /// Its first API key.
    pub key: String,
    running: Running,
}

impl Service {
    /// Starts `tintype serve` on a free port, with retries after a second and loopback opened.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = tintype(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
        command
            .env("TINTYPE__EGRESS__ALLOW", r#"["127.0.0.0/8"]"#)
            .env("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[1,1,1,1,1,1]");
        let running = Running::start(command);
        let url = running.after("is ready at");
        let key = running.line("a key", |line| {
            let word = line.trim();
            word.starts_with("tt_").then(|| word.to_owned())
        });
        Self {
            directory,
            url,
            key,
            running,
        }
    }

    /// A command that speaks to it, with the token of its data directory.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = tintype(self.directory.path(), words);
        command.args(["--server", &self.url]);
        command
    }

    /// Runs such a command, which must succeed, and returns what it printed.
    #[track_caller]
    pub fn ask(&self, words: &[&str]) -> String {
        run(self.command(words), b"").good()
    }

    /// The same as JSON.
    #[track_caller]
    pub fn json(&self, words: &[&str]) -> Value {
        let out = self.ask(&[words, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Waits until a delivery stands so.
    pub fn settled(&self, delivery: &str, status: &str) -> Value {
        until_some(&format!("{delivery} is {status}"), || {
            let seen = self.json(&["delivery", "show", delivery]);
            (seen["status"] == status).then_some(seen)
        })
    }

    /// Stops it in an orderly way, and leaves its directory.
    pub fn stop(self) -> TempDir {
        let Self {
            directory, running, ..
        } = self;
        assert_eq!(running.stop(), Some(0));
        directory
    }
}
