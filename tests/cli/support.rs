//! Runs the real binary: commands until they exit, and servers until SIGTERM.

use crate::cluster::Cluster;
pub use crate::poll::until_some;
pub use crate::running::Running;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A command in `directory`, without the `TINTYPE_` variables of the environment.
pub fn tintype(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tintype"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TINTYPE_")) {
        command.env_remove(name);
    }
    command.current_dir(directory).args(arguments);
    command
}

/// Runs a command with this standard input until it exits.
pub fn run(mut command: Command, input: &[u8]) -> CommandOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read standard input may have closed it.
    let _ = child.stdin.take().unwrap().write_all(input);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    CommandOutput {
        code: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl CommandOutput {
    /// Standard output of a command that must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// Standard error of a command that must have failed with exit code 1.
    #[track_caller]
    pub fn failure(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        self.err
    }
}

/// A running server with its own data directory, or several nodes if the environment asks for them.
pub struct Service {
    /// The working directory. The data directory is `data` in it.
    pub directory: TempDir,
    pub url: String,
    /// The first API key.
    pub key: String,
    processes: Vec<Running>,
    cluster: Option<Cluster>,
}

impl Service {
    /// Starts `tintype serve` on a free port. Webhooks may go to loopback and are retried after a second.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// As [`Service::start`], with these environment variables.
    pub fn start_with(variables: &[(&str, &str)]) -> Self {
        Self::launch(Cluster::requested(), variables)
    }

    /// Starts a single process whatever the environment asks for.
    pub fn start_alone() -> Self {
        Self::launch(None, &[])
    }

    /// Starts a single process with these environment variables.
    pub fn start_alone_with(variables: &[(&str, &str)]) -> Self {
        Self::launch(None, variables)
    }

    fn launch(mut cluster: Option<Cluster>, variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let serve = |listen: &str, data_dir: &str| {
            let arguments = ["serve", "--listen", listen, "--data-dir", data_dir];
            let mut command = tintype(directory.path(), &arguments);
            command
                .env("TINTYPE__EGRESS__ALLOW", r#"["127.0.0.0/8"]"#)
                .env("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[1,1,1,1,1,1]")
                .envs(cluster.iter().flat_map(Cluster::variables))
                .envs(variables.iter().copied());
            Running::start(command)
        };
        let (first, others) = match &cluster {
            Some(cluster) => (cluster.nodes[0].as_str(), &cluster.nodes[1..]),
            None => ("127.0.0.1:0", &[][..]),
        };
        let first = serve(first, "data");
        let url = first.after("is ready at");
        let key = first.line("a key", |line| {
            let word = line.trim();
            word.starts_with("tt_").then(|| word.to_owned())
        });
        let others = others
            .iter()
            .map(|listen| serve(listen, &format!("data-of-{listen}")));
        let others: Vec<Running> = others.collect();
        for node in &others {
            node.after("is ready at");
        }
        if let Some(cluster) = &mut cluster {
            cluster.balance();
        }
        Self {
            directory,
            url,
            key,
            processes: [first].into_iter().chain(others).collect(),
            cluster,
        }
    }

    /// The lines printed so far by the first process.
    pub fn lines(&self) -> Vec<String> {
        self.processes
            .first()
            .map(Running::lines)
            .unwrap_or_default()
    }

    /// The number of processes, each of which gets the next call in turn.
    pub fn nodes(&self) -> usize {
        self.processes.len()
    }

    /// A command for this server, with the token of its data directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = tintype(self.directory.path(), arguments);
        command.args(["--server", &self.url]);
        command
    }

    /// Runs a command that must succeed; returns standard output.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        run(self.command(arguments), b"").success()
    }

    /// As [`Service::run`], with `--json`.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let out = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Waits until a delivery has this status.
    pub fn wait_for_delivery(&self, delivery: &str, status: &str) -> Value {
        until_some(&format!("{delivery} is {status}"), || {
            let seen = self.json(&["delivery", "show", delivery]);
            (seen["status"] == status).then_some(seen)
        })
    }

    /// Kills the processes, as a crash does.
    pub fn kill(&mut self) {
        for process in self.processes.drain(..) {
            process.send("-KILL");
            assert_eq!(process.wait(), None);
        }
    }

    /// Starts a single process again after [`Service::kill`], at the same address.
    pub fn start_again(&mut self) {
        let listen = self.url.trim_start_matches("http://");
        let arguments = ["serve", "--listen", listen, "--data-dir", "data"];
        let process = Running::start(tintype(self.directory.path(), &arguments));
        process.after("is ready at");
        self.processes.push(process);
    }

    /// Stops the server gracefully.
    pub fn stop(mut self) {
        self.end();
    }

    /// Stops the server gracefully, and runs a command on its records that must succeed; returns standard output.
    #[track_caller]
    pub fn stop_and_run(mut self, arguments: &[&str]) -> String {
        self.end();
        let mut command = tintype(self.directory.path(), arguments);
        command.envs(self.cluster.iter().flat_map(Cluster::variables));
        run(command, b"").success()
    }

    fn end(&mut self) {
        for process in self.processes.drain(..) {
            process.send("-TERM");
            let (code, lines) = process.wait_and_read();
            assert_eq!(code, Some(0), "{lines:#?}");
        }
    }
}
