//! A scripted webhook receiver on loopback that records its requests.

use crate::support::until;
use parking_lot::Mutex;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const IO_TIMEOUT: Duration = Duration::from_secs(60);

/// A received request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The only value of a header; panics if there are none or several.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(it, _)| it == name);
        let value = values.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(values.next().is_none(), "{name} appears twice");
        &value.1
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The reaction to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A status without a body.
    Status(u16),
    /// 200 without a body; the connection stays open.
    Keep,
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends nothing until the caller disconnects.
    Silence,
    /// Sends these bytes, then nothing until the caller disconnects.
    Begin(Vec<u8>),
    /// A complete answer, one byte per 100 ms.
    Drip,
    /// 200 with an endless body.
    Endless,
}

type Decide = dyn Fn(usize, &ReceivedRequest) -> Reply + Send + Sync;

struct Shared {
    received: Mutex<Vec<ReceivedRequest>>,
    decide: Box<Decide>,
    open: AtomicUsize,
    most_open: AtomicUsize,
    over: AtomicBool,
}

/// Stops when dropped.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    pub fn always(reply: Reply) -> Self {
        Self::deciding(move |_, _| reply.clone())
    }

    /// Answers 200 without a body.
    pub fn content() -> Self {
        Self::always(Reply::Status(200))
    }

    /// Answers with these statuses in turn, then repeats the last one.
    pub fn statuses(statuses: &[u16]) -> Self {
        let statuses = statuses.to_vec();
        Self::deciding(move |number, _| Reply::Status(statuses[number.min(statuses.len() - 1)]))
    }

    /// Calls `decide` for each request; the first has number 0.
    pub fn deciding(
        decide: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
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

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far, in order.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.received.lock().clone()
    }

    pub fn count(&self) -> usize {
        self.shared.received.lock().len()
    }

    /// Waits for this number of requests and returns them; panics if there are more.
    #[track_caller]
    pub fn once(&self, count: usize) -> Vec<ReceivedRequest> {
        until("the deliveries have arrived", || self.count() >= count);
        let received = self.received();
        assert_eq!(received.len(), count, "more deliveries than awaited");
        received
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// The maximum of concurrently open connections.
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
        let _ = stream.set_read_timeout(Some(IO_TIMEOUT));
        let _ = stream.set_write_timeout(Some(IO_TIMEOUT));
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

    /// Ignores errors: the caller may have disconnected.
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
pub fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
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
    Some(ReceivedRequest {
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
