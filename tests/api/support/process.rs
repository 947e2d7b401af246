//! Runs the program as a separate process, to test its signals and its log.

use super::http::Request;
use super::poll::until_some;
use super::running::{Running, Stream};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// A running `tintype serve`.
pub struct Process {
    pub address: SocketAddr,
    /// The key that a first start prints.
    pub first_key: Option<String>,
    running: Running,
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
        command.arg("serve");
        let running = Running::start(command);
        let find = |what: &str, part: fn(&str) -> Option<&str>| {
            until_some(what, || {
                let lines = running.lines_of(Stream::Out);
                lines.iter().find_map(|line| part(line).map(str::to_owned))
            })
        };
        let address = find("it says where it is", |line| {
            Some(line.split_once("is ready at http://")?.1.trim())
        });
        let first_key = is_first.then(|| {
            find("it shows its first key", |line| {
                Some(line.trim()).filter(|it| it.starts_with("tt_"))
            })
        });
        Self {
            address: address.parse().unwrap(),
            first_key,
            running,
        }
    }

    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// The lines of output so far.
    pub fn said(&self) -> Vec<String> {
        self.running.lines_of(Stream::Out)
    }

    /// The lines of the log so far.
    pub fn logged(&self) -> Vec<String> {
        self.running.lines_of(Stream::Err)
    }

    pub fn call(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    /// Sends SIGTERM and waits for the exit.
    pub fn terminate(self) -> ProcessExit {
        let (status, log) = self.running.stop_and_read(Stream::Err);
        let log = log.join("\n");
        ProcessExit { status, log }
    }
}
