//! A load generator: keep-alive connections that each send the next request as soon as the last one is answered.

use anyhow::{Context as _, bail};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// What a run gave.
pub struct Outcome {
    /// Answers a second.
    pub rate: f64,
    /// Answers in all.
    pub answers: u64,
    /// Answers with another status than the expected one.
    pub bad: u64,
    latencies: Vec<Duration>,
}

impl Outcome {
    /// The latency that this share of the answers stayed below, in milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let at = ((self.latencies.len() as f64 * share) as usize)
            .min(self.latencies.len().saturating_sub(1));
        self.latencies
            .get(at)
            .map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    }
}

/// Sends requests over `connections` for `time`. `request` makes the bytes of the n-th one of a connection.
pub fn run(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    expected: &'static str,
    request: impl Fn(usize, usize) -> Rc<[u8]> + 'static,
) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let request = Rc::new(request);
    LocalSet::new().block_on(&runtime, async move {
        let began = Instant::now();
        let tasks: Vec<_> = (0..connections)
            .map(|connection| {
                let request = Rc::clone(&request);
                tokio::task::spawn_local(async move {
                    one_connection(address, began + time, expected, |number| {
                        request(connection, number)
                    })
                    .await
                })
            })
            .collect();
        let (mut good, mut bad, mut latencies) = (0, 0, Vec::new());
        for task in tasks {
            let (of_it, wrong, times) = task.await??;
            good += of_it;
            bad += wrong;
            latencies.extend(times);
        }
        let took = began.elapsed().as_secs_f64();
        latencies.sort_unstable();
        Ok(Outcome {
            rate: (good + bad) as f64 / took,
            answers: good + bad,
            bad,
            latencies,
        })
    })
}

async fn one_connection(
    address: SocketAddr,
    until: Instant,
    expected: &str,
    request: impl Fn(usize) -> Rc<[u8]>,
) -> anyhow::Result<(u64, u64, Vec<Duration>)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 16 * 1024];
    let (mut good, mut bad, mut latencies) = (0, 0, Vec::new());
    for number in 0.. {
        let sent = Instant::now();
        if sent >= until {
            break;
        }
        stream.write_all(&request(number)).await?;
        if read_answer(&mut stream, &mut buffer)
            .await?
            .starts_with(expected.as_bytes())
        {
            good += 1;
        } else {
            bad += 1;
        }
        latencies.push(sent.elapsed());
    }
    Ok((good, bad, latencies))
}

/// Reads one answer with a Content-Length and returns its status and what follows.
async fn read_answer<'a>(stream: &mut TcpStream, buffer: &'a mut [u8]) -> anyhow::Result<&'a [u8]> {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            bail!("the server closed a connection");
        }
        filled += read;
        let Some(head) = find(&buffer[..filled], b"\r\n\r\n") else {
            continue;
        };
        let length = content_length(&buffer[..head])?;
        if filled >= head + 4 + length {
            return Ok(&buffer[9..filled]);
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    let name = b"content-length: ";
    let at = find(head, name).context("an answer without a Content-Length")? + name.len();
    let digits: Vec<u8> = head[at..]
        .iter()
        .copied()
        .take_while(u8::is_ascii_digit)
        .collect();
    Ok(String::from_utf8(digits)?.parse()?)
}
