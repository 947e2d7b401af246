//! What is measured, in which order.

use crate::bodies;
use crate::client::{self, Outcome};
use crate::report::{Measured, Table};
use crate::{deliveries, scale, waiting};
use anyhow::Context as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

const CONNECTIONS: usize = 64;
const WARM_UP: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(6);
const BODY: &str = r#"{"prompt":"a red fox in the snow at dawn, woodcut","aspect_ratio":"16:9","metadata":{"order":1234,"customer":"c-77"}}"#;
const PATH: &str = "/api/v1/text-generations";
/// Names, accounts, and what idempotency keys begin with.
const CREATIONS: [(&str, usize, Option<&str>); 4] = [
    ("durable create, 1 account", 1, None),
    ("durable create, 1,000 accounts", 1_000, None),
    (
        "durable create, 1 account, Idempotency-Key",
        1,
        Some("load"),
    ),
    (
        "durable create, 1,000 accounts, Idempotency-Key",
        1_000,
        Some("load"),
    ),
];
const RIVAL: [(&str, usize, Option<&str>); 3] = [
    ("FastAPI + PostgreSQL, 1 account", 1, None),
    ("FastAPI + PostgreSQL, 1,000 accounts", 1_000, None),
    (
        "FastAPI + PostgreSQL, 1,000 accounts, Idempotency-Key",
        1_000,
        Some("load"),
    ),
];

/// A server in a process of its own.
pub struct Peer {
    process: Child,
    /// Closing it tells the server to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Where it listens.
    pub address: SocketAddr,
    keys: Vec<String>,
}

impl Peer {
    /// Starts the peer that the words name.
    pub fn start(words: &[&str]) -> anyhow::Result<Self> {
        Self::spawn(
            Command::new(std::env::current_exe()?)
                .arg("--peer")
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
        let address = line.trim().parse().context("the peer did not start")?;
        Ok(Self {
            process,
            input,
            output,
            address,
            keys: Vec::new(),
        })
    }

    fn ceiling() -> anyhow::Result<Self> {
        Self::start(&["ceiling"])
    }

    /// A Tintype on a data directory, with this many fresh accounts.
    pub fn tintype(data_dir: &Path, accounts: usize) -> anyhow::Result<Self> {
        Self::start(&[
            "tintype",
            &data_dir.to_string_lossy(),
            &accounts.to_string(),
        ])?
        .with_keys()
    }

    /// What a team would write instead, with this many accounts: see `benches/rival`.
    fn rival(accounts: usize) -> anyhow::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/rival/serve.py");
        Self::spawn(
            Command::new("python3")
                .arg(script)
                .arg(accounts.to_string()),
        )?
        .with_keys()
    }

    /// Reads the keys of its accounts, which come before the word `ready`.
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

    /// The key of its first account.
    pub fn key(&self) -> Option<&str> {
        self.keys.first().map(String::as_str)
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the server and returns what it said last.
    pub fn end(mut self) -> anyhow::Result<String> {
        drop(self.input.take());
        let mut last = String::new();
        self.output.read_line(&mut last)?;
        self.process.wait()?;
        Ok(last.trim().to_owned())
    }
}

/// Runs what `wanted` names, or everything.
pub fn run(wanted: &[String]) -> anyhow::Result<()> {
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let mut table = Table::default();
    let ceiling = Peer::ceiling()?;
    let bare = create_load(ceiling, None)?;
    table.add("ceiling: bare actix-web, same JSON", &bare, None);
    if wants("create") {
        for (name, accounts, idempotency) in CREATIONS {
            let directory = tempfile::tempdir()?;
            let peer = Peer::tintype(directory.path(), accounts)?;
            table.add(name, &create_load(peer, idempotency)?, Some(&bare));
        }
    }
    if wants("rival") {
        for (name, accounts, idempotency) in RIVAL {
            let measured = create_load(Peer::rival(accounts)?, idempotency)?;
            table.add(name, &measured, Some(&bare));
        }
    }
    if wants("lookup") {
        let directory = tempfile::tempdir()?;
        let peer = Peer::tintype(directory.path(), 1)?;
        table.add("lookup", &lookup(peer)?, Some(&bare));
    }
    table.print();
    if wants("deliveries") {
        deliveries::run()?;
    }
    if wants("scale") {
        scale::run()?;
    }
    if wants("bodies") {
        bodies::run()?;
    }
    if wants("waiting") {
        waiting::run()?;
    }
    Ok(())
}

/// Warms a server up, measures it, and ends it.
fn measure(
    peer: Peer,
    expected: &'static str,
    request: impl Fn(&'static str, usize, usize) -> Rc<[u8]> + Clone + 'static,
) -> anyhow::Result<Measured> {
    let run = |time: Duration, round: &'static str| -> anyhow::Result<Outcome> {
        let request = request.clone();
        client::run(
            peer.address,
            CONNECTIONS,
            time,
            expected,
            move |connection, number| request(round, connection, number),
        )
    };
    let warm = run(WARM_UP, "warm")?;
    let before = cpu_time(peer.id())?;
    let outcome = run(TIME, "hot")?;
    let used = cpu_time(peer.id())? - before;
    let answers = (warm.answers + outcome.answers) as f64;
    let syncs: f64 = peer.end()?.parse().unwrap_or(0.0);
    Ok(Measured {
        cpu_per_answer: used.div_f64((outcome.answers as f64).max(1.0)),
        answers_per_sync: if syncs > 0.0 { answers / syncs } else { 0.0 },
        outcome,
    })
}

/// Processor time that a process and those that it has started have used.
fn cpu_time(process: u32) -> anyhow::Result<Duration> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let stat = std::fs::read_to_string(entry?.path().join("stat")).unwrap_or_default();
        found.extend(Stat::read(&stat));
    }
    let mut of_it = vec![process];
    let mut ticks = 0;
    while let Some(one) = of_it.pop() {
        of_it.extend(found.iter().filter(|it| it.parent == one).map(|it| it.id));
        ticks += found
            .iter()
            .filter(|it| it.id == one)
            .map(|it| it.ticks)
            .sum::<u64>();
    }
    Ok(Duration::from_millis(ticks * 10))
}

/// What Linux tells of a process.
struct Stat {
    id: u32,
    parent: u32,
    /// Processor time in hundredths of a second, whatever the kernel counts in itself.
    ticks: u64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        let (before_name, after_name) = text.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        Some(Self {
            id: before_name.split_once(' ')?.0.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            ticks: fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?,
        })
    }
}

fn create_load(peer: Peer, idempotency: Option<&'static str>) -> anyhow::Result<Measured> {
    let keys: Vec<String> = if peer.keys.is_empty() {
        vec!["none".into()]
    } else {
        peer.keys.clone()
    };
    let plain: Rc<Vec<Rc<[u8]>>> = Rc::new(keys.iter().map(|key| post(key, None)).collect());
    let keys = Rc::new(keys);
    measure(peer, "202", move |round, connection, number| {
        let at = (connection * 7_919 + number * CONNECTIONS) % keys.len();
        match idempotency {
            Some(prefix) => post(
                &keys[at],
                Some(&format!("{prefix}-{round}-{connection}-{number}")),
            ),
            None => Rc::clone(&plain[at]),
        }
    })
}

fn post(key: &str, idempotency: Option<&str>) -> Rc<[u8]> {
    let idempotency = idempotency
        .map(|name| format!("Idempotency-Key: {name}\r\n"))
        .unwrap_or_default();
    format!(
        "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{idempotency}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
    .into()
}

fn lookup(peer: Peer) -> anyhow::Result<Measured> {
    let key = peer.keys.first().context("no key")?.clone();
    let jobs: Vec<String> = (0..1_000)
        .map(|_| create_one(peer.address, &key))
        .collect::<Result<_, _>>()?;
    let requests: Rc<Vec<Rc<[u8]>>> = Rc::new(jobs.iter().map(|job| get(&key, job)).collect());
    measure(peer, "200", move |_, connection, number| {
        Rc::clone(&requests[(connection * 31 + number) % requests.len()])
    })
}

fn get(key: &str, job: &str) -> Rc<[u8]> {
    format!(
        "GET /api/v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n"
    )
    .into_bytes()
    .into()
}

/// Creates a job and returns its id.
pub fn create_one(address: SocketAddr, key: &str) -> anyhow::Result<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(&post(key, None))?;
    let mut buffer = [0; 4_096];
    let mut text = String::new();
    while !text.contains("status_url") {
        let read = stream.read(&mut buffer)?;
        anyhow::ensure!(read > 0, "no job was made: {text}");
        text.push_str(std::str::from_utf8(&buffer[..read])?);
    }
    let at = text.find("\"job_id\":\"").context("no job id")? + 10;
    Ok(text[at..at + 36].to_owned())
}
