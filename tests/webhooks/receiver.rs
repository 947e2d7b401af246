//! A receiver of webhooks on loopback: keeps what it was sent, and answers as a test wishes.

use crate::support::until;
use parking_lot::Mutex;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// No connection of a test is read from or written to for longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Method and target.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as it was sent.
    pub body: Vec<u8>,
}

impl Received {
    /// The one value of a header.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(it, _)| it == name);
        let value = values.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(values.next().is_none(), "{name} stands twice");
        &value.1
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// What is done once a request has been read.
#[derive(Clone, Debug)]
pub enum Reply {
    /// This status, with no body.
    Status(u16),
    /// 200 with no body, and the next request may come over the same connection.
    Keep,
    /// These very bytes, and the end.
    Bytes(Vec<u8>),
    /// Nothing, for as long as the caller holds on.
    Silence,
    /// These bytes, and then nothing for as long as the caller holds on.
    Begin(Vec<u8>),
    /// A whole answer, one byte of it each tenth of a second.
    Drip,
    /// 200 and a body without end.
    Endless,
}

type Decide = dyn Fn(usize, &Received) -> Reply + Send + Sync;

struct Shared {
    received: Mutex<Vec<Received>>,
    decide: Box<Decide>,
    open: AtomicUsize,
    most_open: AtomicUsize,
    over: AtomicBool,
}

/// The receiver. It stops when it goes out of scope.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Answers everything with this.
    pub fn always(reply: Reply) -> Self {
        Self::deciding(move |_, _| reply.clone())
    }

    /// Answers 200 with no body.
    pub fn content() -> Self {
        Self::always(Reply::Status(200))
    }

    /// Answers with one after the other of these statuses, and then always with the last.
    pub fn statuses(statuses: &[u16]) -> Self {
        let statuses = statuses.to_vec();
        Self::deciding(move |number, _| Reply::Status(statuses[number.min(statuses.len() - 1)]))
    }

    /// Answers as it is told for each request, the first of which has number 0.
    pub fn deciding(decide: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            received: Mutex::default(),
            decide: Box::new(decide),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if own.over.load(Ordering::SeqCst) {
                    return;
                }
                let own = Arc::clone(&own);
                let Ok(stream) = stream else { continue };
                thread::spawn(move || {
                    let now = own.open.fetch_add(1, Ordering::SeqCst) + 1;
                    own.most_open.fetch_max(now, Ordering::SeqCst);
                    own.serve(stream);
                    own.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What has arrived so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().clone()
    }

    /// How many requests have arrived so far.
    pub fn count(&self) -> usize {
        self.shared.received.lock().len()
    }

    /// Waits for as many requests and returns them; fails when there are more.
    #[track_caller]
    pub fn once(&self, count: usize) -> Vec<Received> {
        until("the deliveries have arrived", || self.count() >= count);
        let received = self.received();
        assert_eq!(received.len(), count, "more deliveries than awaited");
        received
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// The most connections that were ever open at a time.
    pub fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let _ = stream.set_write_timeout(Some(PATIENCE));
        while let Some(request) = read(&mut stream) {
            let number = {
                let mut received = self.received.lock();
                received.push(request.clone());
                received.len() - 1
            };
            let reply = (self.decide)(number, &request);
            let is_last = !matches!(reply, Reply::Keep);
            self.answer(&mut stream, reply);
            if is_last {
                return;
            }
        }
    }

    /// The caller may have gone: then there is nobody to answer.
    fn answer(&self, stream: &mut TcpStream, reply: Reply) {
        match reply {
            Reply::Keep => {
                let answer = b"HTTP/1.1 200 As told\r\nContent-Length: 0\r\n\r\n";
                drop(stream.write_all(answer));
            }
            Reply::Status(status) => drop(stream.write_all(&answer(status, "", b""))),
            Reply::Bytes(bytes) => drop(stream.write_all(&bytes)),
            Reply::Silence => wait_for_end(stream),
            Reply::Begin(bytes) => {
                if stream.write_all(&bytes).is_ok() {
                    wait_for_end(stream);
                }
            }
            Reply::Drip => {
                for byte in answer(200, "", &[b'x'; 500]) {
                    if self.over.load(Ordering::SeqCst) || stream.write_all(&[byte]).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_millis(100));
                }
            }
            Reply::Endless => {
                let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                let chunk = [b"1000\r\n".as_slice(), &[b'x'; 4096], b"\r\n"].concat();
                let mut on = stream.write_all(head).is_ok();
                while on && !self.over.load(Ordering::SeqCst) {
                    on = stream.write_all(&chunk).is_ok();
                }
            }
        }
    }
}

/// A whole answer. `headers` is empty or ends with CR LF.
pub fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = match status {
        204 => String::new(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} As told\r\n{headers}{length}Connection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn wait_for_end(stream: &mut TcpStream) {
    let mut buffer = [0; 64];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// Reads one request with a declared length; `None` when the connection ends before.
pub fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        more(stream, &mut bytes)?;
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.split("\r\n");
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let length: usize = length.1.parse().ok()?;
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        more(stream, &mut body)?;
    }
    assert_eq!(body.len(), length, "more than the declared length");
    Some(Received {
        line,
        headers,
        body,
    })
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 16_384];
    let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
    bytes.extend(&buffer[..count]);
    Some(())
}
