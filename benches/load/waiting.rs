//! Memory of ten thousand clients that wait for their jobs, compared with as many idle keep-alive connections.

use crate::server::{self, ChildServer, Generator};
use crate::sizes::settled_memory;
use anyhow::{Context as _, ensure};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

const CLIENTS: usize = 10_000;
const JOBS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);

struct Behaviour {
    name: &'static str,
    /// Appended to the path of the job.
    path: &'static str,
    /// The text after which the client waits; `None` if nothing arrives while it waits.
    expected: Option<&'static str>,
}

const LISTENING: Behaviour = Behaviour {
    name: "listening to events",
    path: "/events",
    expected: Some("data: "),
};

const BEHAVIOURS: [Behaviour; 3] = [
    Behaviour {
        name: "connected, idle",
        path: "",
        expected: Some("queue_position"),
    },
    Behaviour {
        name: "lookup with ?wait=60",
        path: "?wait=60",
        expected: None,
    },
    LISTENING,
];

/// Prints a line for each behaviour.
pub fn run() -> anyhow::Result<()> {
    println!(
        "\n| {CLIENTS} clients | resident MB before | with them | KB each | with the next {CLIENTS} after them |"
    );
    println!("|---|---|---|---|---|");
    for behaviour in BEHAVIOURS {
        let directory = tempfile::tempdir()?;
        let (server, key, jobs) = with_jobs(directory.path())?;
        let before = settled_memory(server.id())?;
        let first = connect_clients(server.address, &key, &jobs, &behaviour, CLIENTS)?;
        let with_them = settled_memory(server.id())?;
        drop(first);
        let next = connect_clients(server.address, &key, &jobs, &behaviour, CLIENTS)?;
        let with_the_next = settled_memory(server.id())?;
        drop(next);
        server.end()?;
        let each = (with_them.saturating_sub(before)) as f64 * 1_000.0 / CLIENTS as f64;
        println!(
            "| {} | {before} | {with_them} | {each:.1} | {with_the_next} |",
            behaviour.name
        );
    }
    Ok(())
}

/// Resident MB with this many clients that listen to events.
pub fn memory_of_listeners(count: usize) -> anyhow::Result<u64> {
    let directory = tempfile::tempdir()?;
    let (server, key, jobs) = with_jobs(directory.path())?;
    let clients = connect_clients(server.address, &key, &jobs, &LISTENING, count)?;
    let resident = settled_memory(server.id())?;
    drop(clients);
    server.end()?;
    Ok(resident)
}

/// A service with waiting jobs, and their key.
fn with_jobs(data_dir: &Path) -> anyhow::Result<(ChildServer, String, Vec<String>)> {
    let unlimited = [("TINTYPE__LIMITS__WAITING_CALLS_PER_ACCOUNT", "1000000")];
    let server = ChildServer::tintype_in(data_dir, 1, Generator::Never, None, &unlimited)?;
    let key = server.key().context("no key")?.to_owned();
    let create = |_| server::create_one(server.address, &key);
    let jobs = (0..JOBS).map(create).collect::<Result<Vec<_>, _>>()?;
    Ok((server, key, jobs))
}

fn connect_clients(
    address: SocketAddr,
    key: &str,
    jobs: &[String],
    behaviour: &Behaviour,
    count: usize,
) -> anyhow::Result<Vec<TcpStream>> {
    let mut clients = Vec::with_capacity(count);
    for number in 0..count {
        let mut stream =
            TcpStream::connect(address).context("is the limit of open files too low?")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let job = &jobs[number % jobs.len()];
        write!(
            stream,
            "GET /api/v1/jobs/{job}{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n",
            behaviour.path
        )?;
        clients.push(stream);
    }
    if let Some(expected) = behaviour.expected {
        for client in &mut clients {
            let (mut text, mut buffer) = (String::new(), [0; 4_096]);
            while !text.contains(expected) {
                let read = client.read(&mut buffer)?;
                ensure!(read > 0, "the server closed the connection after {text}");
                text.push_str(std::str::from_utf8(&buffer[..read])?);
            }
        }
    }
    Ok(clients)
}
