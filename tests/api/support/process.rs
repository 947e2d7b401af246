//! Runs the program as a separate process, to test its signals and its log.

use super::http::Request;
use super::poll::until_some;
use parking_lot::Mutex;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A running `tintype serve`.
pub struct Process {
    pub address: SocketAddr,
    /// The key that a first start prints.
    pub first_key: Option<String>,
    child: Child,
    log: Option<JoinHandle<String>>,
    words: Option<JoinHandle<()>>,
    said: Arc<Mutex<Vec<String>>>,
}

pub struct ProcessExit {
    pub status: Option<i32>,
    /// Everything written to standard error.
    pub log: String,
}

impl Process {
    /// The program on a data directory, with settings as `SECTION__KEY` and value, and an otherwise empty environment.
    pub fn command(data_dir: &Path, settings: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tintype"));
        command.env_clear().current_dir(data_dir);
        command.env("TINTYPE__STORAGE__DATA_DIR", data_dir.join("data"));
        command.env("TINTYPE__SERVER__LISTEN", "127.0.0.1:0");
        for (key, value) in settings {
            command.env(format!("TINTYPE__{key}"), value);
        }
        command
    }

    /// Starts `serve` and waits until it prints its address.
    pub fn start(data_dir: &Path, settings: &[(&str, &str)]) -> Self {
        let is_first = !data_dir.join("data").exists();
        Self::start_from(Self::command(data_dir, settings), is_first)
    }

    /// Starts a `serve` command and waits until it prints its address and, at a first start, its key.
    pub fn start_from(mut command: Command, is_first: bool) -> Self {
        let mut child = command
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = child.stderr.take().unwrap();
        let log = thread::spawn(move || {
            let mut text = Vec::new();
            errors.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let output = BufReader::new(child.stdout.take().unwrap());
        let said = Arc::new(Mutex::new(Vec::<String>::new()));
        let heard = Arc::clone(&said);
        let words = thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            lines.for_each(|line| heard.lock().push(line));
        });
        let find = |what: &str, part: fn(&str) -> Option<String>| {
            until_some(what, || said.lock().iter().find_map(|line| part(line)))
        };
        let address = find("it says where it is", |line| {
            Some(line.split_once("is ready at http://")?.1.trim().to_owned())
        });
        let key = |line: &str| {
            line.trim()
                .starts_with("tt_")
                .then(|| line.trim().to_owned())
        };
        Self {
            address: address.parse().unwrap(),
            first_key: is_first.then(|| find("it shows its first key", key)),
            child,
            log: Some(log),
            words: Some(words),
            said,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The lines of output so far.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().clone()
    }

    pub fn call(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    /// Sends SIGTERM and waits for the exit.
    pub fn terminate(mut self) -> ProcessExit {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(asked.success());
        let status = until_some("the process ends", || self.child.try_wait().unwrap());
        ProcessExit {
            status: status.code(),
            log: self.log.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(words) = self.words.take() {
            let _ = words.join();
        }
    }
}
