//! A scripted server that can also break the protocol.

use super::support::eventually;
use parking_lot::Mutex;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// One step of a script. The connection closes after the last step.
#[derive(Clone)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// Repeats the bytes until the client disconnects.
    Endless(Vec<u8>),
    /// Sends byte by byte, with a pause before each.
    Drip(Vec<u8>, Duration),
    /// Waits until the client disconnects.
    Hang,
    /// Waits for a signal of the test.
    Gate(watch::Receiver<bool>),
    /// Resets the connection instead of closing it.
    Reset,
}

pub(super) struct Server {
    pub address: SocketAddr,
    /// Request heads, in order of arrival.
    pub requests: Arc<Mutex<Vec<String>>>,
    /// Connections with unfinished scripts.
    busy: Arc<AtomicUsize>,
    /// Body bytes of [`Act::Endless`] that the kernel accepted.
    pub poured: Arc<AtomicU64>,
}

impl Server {
    /// Serves on 127.0.0.1; `script` returns the steps for a path.
    pub async fn start(script: impl Fn(&str) -> Vec<Act> + 'static) -> Self {
        Self::start_on("127.0.0.1:0", script).await
    }

    pub async fn start_on(address: &str, script: impl Fn(&str) -> Vec<Act> + 'static) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            busy: Arc::default(),
            poured: Arc::default(),
        };
        let (requests, busy) = (Arc::clone(&server.requests), Arc::clone(&server.busy));
        let poured = Arc::clone(&server.poured);
        let port = server.address.port();
        actix_web::rt::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let head = read_head(&mut stream).await;
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                requests.lock().push(head);
                let acts = fill_in(script(&path), port);
                let (busy, poured) = (Arc::clone(&busy), Arc::clone(&poured));
                busy.fetch_add(1, Ordering::SeqCst);
                actix_web::rt::spawn(async move {
                    perform(stream, acts, &poured).await;
                    busy.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    /// The URL of a path, with a host name that the tests' resolver knows.
    pub fn url(&self, path: &str) -> String {
        format!("http://pictures.example:{}{path}", self.address.port())
    }

    pub fn count(&self) -> usize {
        self.requests.lock().len()
    }

    /// Waits until every connection is closed.
    pub async fn wait_until_idle(&self) {
        let is_idle = async || self.busy.load(Ordering::SeqCst) == 0;
        eventually("all connections are closed", is_idle).await;
    }
}

/// Replaces `PORT` in a head with the server's port, which a script cannot know.
fn fill_in(mut acts: Vec<Act>, port: u16) -> Vec<Act> {
    if let Some(Act::Send(head)) = acts.first_mut()
        && let Ok(text) = std::str::from_utf8(head)
    {
        *head = text.replace("PORT", &port.to_string()).into_bytes();
    }
    acts
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

async fn perform(mut stream: TcpStream, acts: Vec<Act>, poured: &AtomicU64) {
    for act in acts {
        let outcome = match act {
            Act::Send(bytes) => stream.write_all(&bytes).await,
            Act::Endless(bytes) => loop {
                if let Err(error) = stream.write_all(&bytes).await {
                    break Err(error);
                }
                poured.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            },
            Act::Drip(bytes, pause) => drip(&mut stream, &bytes, pause).await,
            Act::Hang => stream.read_u8().await.map(drop),
            Act::Gate(mut open) => {
                let _ = open.wait_for(|open| *open).await;
                Ok(())
            }
            Act::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
        };
        if outcome.is_err() {
            return;
        }
    }
    let _ = stream.shutdown().await;
}

async fn drip(stream: &mut TcpStream, bytes: &[u8], pause: Duration) -> std::io::Result<()> {
    for byte in bytes {
        tokio::time::sleep(pause).await;
        stream.write_u8(*byte).await?;
    }
    Ok(())
}

/// A complete response with a Content-Length.
pub(super) fn ok(body: &[u8]) -> Vec<Act> {
    let mut all = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    all.extend_from_slice(body);
    vec![Act::Send(all)]
}

/// A head and the steps after it.
pub(super) fn head(lines: &str, rest: impl IntoIterator<Item = Act>) -> Vec<Act> {
    let head = format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
    std::iter::once(Act::Send(head.into_bytes()))
        .chain(rest)
        .collect()
}

pub(super) fn redirect(status: u16, location: &str) -> Vec<Act> {
    head(
        &format!("HTTP/1.1 {status} Moved\nLocation: {location}\nContent-Length: 0"),
        [],
    )
}
