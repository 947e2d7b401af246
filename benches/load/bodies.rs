//! The memory for large bodies of the synchronous interface: eight concurrent bodies of 150 MB, each with one image or with as
//! many as a request may have.

use crate::server::ChildServer;
use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const BODIES: usize = 8;
const BYTES: usize = 150_000_000;
const PIECE: usize = 1 << 20;
/// Seconds that a call waits, enough for all bodies to arrive.
const WAITS: u32 = 30;
/// Images per body.
const SHAPES: [usize; 2] = [1, 14];
/// The maximum resident memory in MB.
const MOST: u64 = 600;
const PATIENCE: Duration = Duration::from_secs(600);
const BEFORE: &str = r#"{"contents":[{"parts":[{"text":"make it blue"}"#;
const IMAGE: &str = r#",{"inlineData":{"mimeType":"image/png","data":""#;
const IMAGE_END: &str = r#""}}"#;
const AFTER: &str = "]}]}";

/// Prints a line for each shape: resident memory before and at the peak, and the time until all bodies have arrived.
pub fn run() -> anyhow::Result<()> {
    println!(
        "\n| Bodies at once | MB each | images each | resident MB before | at the peak | s until all are taken in |"
    );
    println!("|---|---|---|---|---|---|");
    SHAPES.into_iter().try_for_each(measure)
}

fn measure(images: usize) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype(directory.path(), 1)?;
    let key = server.key().context("no key")?.to_owned();
    let before = memory(server.id(), "VmRSS:")?;
    let began = Instant::now();
    let address = server.address;
    let senders: Vec<_> = (0..BODIES)
        .map(|_| {
            let key = key.clone();
            thread::spawn(move || send(address, &key, images))
        })
        .collect();
    let mut took = Duration::ZERO;
    for sender in senders {
        let (status, sent) = sender.join().map_err(|_| anyhow::anyhow!("a panic"))??;
        took = took.max(sent - began);
        // The child server's generator never ends, so a call that was read completely waits for the time that it asked for.
        ensure!(status.starts_with("HTTP/1.1 504"), "answered {status}");
    }
    let peak = memory(server.id(), "VmHWM:")?;
    server.end()?;
    println!(
        "| {BODIES} | {} | {images} | {before} | {peak} | {:.1} |",
        BYTES / 1_000_000,
        took.as_secs_f64()
    );
    ensure!(peak <= MOST, "{peak} MB are more than {MOST}");
    Ok(())
}

/// Sends one body. Returns the first line of the answer, and when the last byte was sent.
fn send(address: SocketAddr, key: &str, images: usize) -> anyhow::Result<(String, Instant)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let around = BEFORE.len() + AFTER.len() + images * (IMAGE.len() + IMAGE_END.len());
    let image = (BYTES - around) / images;
    let image = image - image % 4;
    let length = around + images * image;
    write!(
        stream,
        "POST /v1beta/models/pro:generateContent HTTP/1.1\r\nHost: localhost\r\nx-goog-api-key: {key}\r\n\
         X-Server-Timeout: {WAITS}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{BEFORE}"
    )?;
    let head = STANDARD.encode(png_head());
    let piece = vec![b'A'; PIECE];
    for _ in 0..images {
        stream.write_all(IMAGE.as_bytes())?;
        stream.write_all(head.as_bytes())?;
        let mut left = image - head.len();
        while left > 0 {
            let now = left.min(PIECE);
            stream.write_all(&piece[..now])?;
            left -= now;
        }
        stream.write_all(IMAGE_END.as_bytes())?;
    }
    stream.write_all(AFTER.as_bytes())?;
    let sent = Instant::now();
    let mut answer = vec![0; 4_096];
    let read = stream.read(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    Ok((answer.lines().next().unwrap_or_default().to_owned(), sent))
}

/// The head of a PNG whose image data is as long as allowed, in a number of bytes that base64 encodes without padding.
fn png_head() -> Vec<u8> {
    let mut head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    head.extend([0, 0, 4, 0, 0, 0, 4, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0]);
    head.extend(b"\x7f\xff\xff\xffIDAT\0");
    head
}

/// A memory figure of a process in MB.
fn memory(process: u32, name: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with(name));
    let kilobytes: u64 = line
        .and_then(|line| line.split_whitespace().nth(1))
        .context("no figure")?
        .parse()?;
    Ok(kilobytes / 1_000)
}
