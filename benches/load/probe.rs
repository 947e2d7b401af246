//! The latency of a call without contention: a few connections that call one after the other, so that queueing does not hide
//! how the latency grows with the store.

use anyhow::{Context as _, ensure};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 4;
const WARM_UP: Duration = Duration::from_millis(500);
const TIME: Duration = Duration::from_secs(3);

/// The median latency in microseconds. `request` builds the n-th request overall.
pub fn median(
    address: SocketAddr,
    expected: &str,
    request: impl Fn(usize) -> String + Sync,
) -> anyhow::Result<f64> {
    let one = |connection: usize| -> anyhow::Result<Vec<Duration>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (began, mut times, mut number) = (Instant::now(), Vec::new(), connection);
        while began.elapsed() < WARM_UP + TIME {
            let asked = Instant::now();
            stream.write_all(request(number).as_bytes())?;
            let status = answer(&mut stream)?;
            ensure!(status == expected, "answered {status}");
            if began.elapsed() > WARM_UP {
                times.push(asked.elapsed());
            }
            number += CONNECTIONS;
        }
        Ok(times)
    };
    let times = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..CONNECTIONS)
            .map(|connection| scope.spawn(move || one(connection)))
            .collect();
        let ended = asking.into_iter().map(|it| it.join());
        ended
            .map(|it| it.map_err(|_| anyhow::anyhow!("a connection panicked"))?)
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    let mut times = times.concat();
    times.sort_unstable();
    let median = times.get(times.len() / 2).context("no answer")?;
    Ok(median.as_secs_f64() * 1e6)
}

/// Reads one answer with a length, and returns its status line.
fn answer(stream: &mut TcpStream) -> anyhow::Result<String> {
    let (mut text, mut buffer) = (String::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut buffer)?;
        ensure!(read > 0, "hung up after {text}");
        text.push_str(std::str::from_utf8(&buffer[..read])?);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let (_, length) = head.split_once("content-length: ").context("no length")?;
        let length: usize = length.lines().next().unwrap_or_default().parse()?;
        if body.len() >= length {
            return Ok(head.get(9..12).context("no status")?.to_owned());
        }
    }
}
