//! The servers under load from the run's side: it starts, calls and stops their processes.

use crate::wire;
use anyhow::{Context as _, ensure};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server in its own process.
pub struct ChildServer {
    process: Child,
    /// Closing it stops the server.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub address: SocketAddr,
    /// One key per account.
    pub keys: Vec<String>,
}

/// How the backend handles a job.
#[derive(Clone, Copy)]
pub enum Generator {
    /// Starts and never ends, so that the run measures the acceptance of jobs.
    Never,
    /// Returns a tiny image at once.
    Instant,
}

impl Generator {
    /// The name in the child server's arguments.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Instant => "instant",
        }
    }
}

/// The writes of a Tintype since it became ready.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteTotals {
    /// Number of disk syncs.
    pub syncs: f64,
    /// Bytes of keys and values.
    pub bytes: f64,
}

impl ChildServer {
    /// Starts the child server that the words name.
    pub fn start(words: &[&str]) -> anyhow::Result<Self> {
        Self::spawn(
            Command::new(std::env::current_exe()?)
                .arg("--child")
                .args(words),
        )
    }

    fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let mut output = BufReader::new(process.stdout.take().context("no output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line
            .trim()
            .parse()
            .context("the child server did not start")?;
        Ok(Self {
            process,
            input,
            output,
            address,
            keys: Vec::new(),
        })
    }

    /// A bare actix-web.
    pub fn ceiling() -> anyhow::Result<Self> {
        let mut server = Self::start(&["ceiling"])?;
        // The bare handler reads no key.
        server.keys.push("none".into());
        Ok(server)
    }

    /// A Tintype on a data directory, with this many fresh accounts, whose jobs never end.
    pub fn tintype(data_dir: &Path, accounts: usize) -> anyhow::Result<Self> {
        Self::tintype_with(data_dir, accounts, Generator::Never, None)
    }

    /// A Tintype with this generator. Each account has a webhook at the receiver, if there is one.
    pub fn tintype_with(
        data_dir: &Path,
        accounts: usize,
        generator: Generator,
        receiver: Option<SocketAddr>,
    ) -> anyhow::Result<Self> {
        Self::tintype_in(data_dir, accounts, generator, receiver, &[])
    }

    /// A Tintype with additional environment variables.
    pub fn tintype_in(
        data_dir: &Path,
        accounts: usize,
        generator: Generator,
        receiver: Option<SocketAddr>,
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        Self::spawn(
            Command::new(std::env::current_exe()?)
                .args(["--child", "tintype"])
                .arg(data_dir)
                .args([&accounts.to_string(), generator.as_str()])
                .args(receiver.map(|it| it.to_string()))
                .envs(environment.iter().copied()),
        )?
        .with_keys()
    }

    /// Like [`ChildServer::tintype`], on the first processor only, so that the callers have the others.
    pub fn tintype_on_one_processor(data_dir: &Path, accounts: usize) -> anyhow::Result<Self> {
        Self::spawn(
            Command::new("taskset")
                .args(["--cpu-list", "0"])
                .arg(std::env::current_exe()?)
                .args(["--child", "tintype"])
                .arg(data_dir)
                .args([&accounts.to_string(), Generator::Never.as_str()]),
        )?
        .with_keys()
    }

    /// The conventional design, with this many accounts: see `benches/fastapi_baseline`.
    pub fn baseline(accounts: usize) -> anyhow::Result<Self> {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/fastapi_baseline/serve.py");
        Self::spawn(
            Command::new("python3")
                .arg(script)
                .arg(accounts.to_string()),
        )?
        .with_keys()
    }

    /// Reads the accounts' keys, which precede the word `ready`.
    fn with_keys(mut self) -> anyhow::Result<Self> {
        for line in self.output.by_ref().lines() {
            let line = line?;
            if line == "ready" {
                break;
            }
            self.keys.push(line);
        }
        Ok(self)
    }

    /// The key of the first account.
    pub fn key(&self) -> Option<&str> {
        self.keys.first().map(String::as_str)
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the server.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Stops the server and returns its last output.
    pub fn end(mut self) -> anyhow::Result<String> {
        drop(self.input.take());
        let mut last = String::new();
        self.output.read_line(&mut last)?;
        let status = self.process.wait()?;
        ensure!(status.success(), "a server ended with {status}");
        Ok(last.trim().to_owned())
    }

    /// Stops a Tintype and returns its writes.
    pub fn end_tintype(self) -> anyhow::Result<WriteTotals> {
        let last = self.end()?;
        let figures = last.split_once(' ').context("no figures at the end")?;
        Ok(WriteTotals {
            syncs: figures.0.parse()?,
            bytes: figures.1.parse()?,
        })
    }
}

/// Creates a job and returns its id.
pub fn create_one(address: SocketAddr, key: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&wire::post(key, None))?;
    let (mut buffer, mut text) = ([0; 4_096], Vec::new());
    loop {
        let read = stream.read(&mut buffer)?;
        ensure!(
            read > 0,
            "no job was made: {}",
            String::from_utf8_lossy(&text)
        );
        text.extend_from_slice(&buffer[..read]);
        if let Some(id) = wire::job_id(&text) {
            return Ok(id.to_owned());
        }
    }
}
