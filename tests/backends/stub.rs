//! A back end that does as a test says, and remembers what it was asked.

use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub at: Instant,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// What is answered. The connection closes afterwards, unless it is said that it stays.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Status with its words, further header lines, body.
    Whole(&'static str, String, Vec<u8>),
    /// As JSON, after which the connection stays open for the next request.
    Kept(Vec<u8>),
    /// So many bytes of an answer that was announced as a longer one.
    Half(&'static str, Vec<u8>),
    /// A body without an end that is chunked.
    Endless,
    /// No byte, and the connection closed.
    Nothing,
    /// Nothing until the stub ends, or the client gives up.
    Silence,
    /// The answer once the test lets it go.
    Held(Box<Reply>),
}

impl Reply {
    pub fn json(value: &Value) -> Self {
        Self::typed("200 OK", "application/json", value.to_string())
    }

    pub fn error(status: &'static str, value: &Value) -> Self {
        Self::typed(status, "application/json", value.to_string())
    }

    pub fn typed(status: &'static str, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Whole(
            status,
            format!("Content-Type: {media_type}\r\n"),
            body.into(),
        )
    }

    pub fn with(self, line: &str) -> Self {
        match self {
            Self::Whole(status, headers, body) => {
                Self::Whole(status, format!("{headers}{line}\r\n"), body)
            }
            other => other,
        }
    }

    pub fn held(self) -> Self {
        Self::Held(Box::new(self))
    }
}

#[derive(Default)]
struct Script {
    next: VecDeque<Reply>,
    paths: Vec<(String, Reply)>,
    then: Option<Reply>,
    seen: Vec<Seen>,
    running: usize,
    peak: usize,
    connections: usize,
    released: bool,
}

type Shared = Arc<(Mutex<Script>, AtomicBool)>;

/// The stub. It stops listening when it goes out of scope, or is killed.
pub struct Stub {
    pub address: SocketAddr,
    shared: Shared,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    /// Answers these in turn, then the last one for ever.
    pub fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut next: VecDeque<Reply> = replies.into_iter().collect();
        let then = next.pop_back();
        let script = Script {
            next,
            then,
            ..Script::default()
        };
        let shared: Shared = Arc::new((Mutex::new(script), AtomicBool::new(false)));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let for_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if for_thread.1.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&for_thread);
                if let Ok(stream) = stream {
                    thread::spawn(move || serve(stream, &shared));
                }
            }
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// Answers this on this path, whatever the script says.
    pub fn on(self, path: &str, reply: Reply) -> Self {
        self.shared.0.lock().paths.push((path.to_owned(), reply));
        self
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.0.lock().seen.clone()
    }

    /// The only request so far.
    pub fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen.remove(0)
    }

    /// How many requests it had at the same time, at most.
    pub fn peak(&self) -> usize {
        self.shared.0.lock().peak
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.shared.0.lock().connections
    }

    /// How many requests it has now.
    pub fn running(&self) -> usize {
        self.shared.0.lock().running
    }

    /// Lets go of all answers that are held, now and later.
    pub fn release(&self) {
        self.shared.0.lock().released = true;
    }

    /// Takes no connection any more, and breaks off those that it has.
    pub fn kill(&mut self) {
        self.shared.1.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    shared.0.lock().connections += 1;
    while let Some(seen) = read(&stream) {
        let reply = next(seen, shared);
        let stays = matches!(reply, Reply::Kept(_));
        answer(&mut stream, reply, shared);
        shared.0.lock().running -= 1;
        if !stays {
            return;
        }
    }
}

fn next(seen: Seen, shared: &Shared) -> Reply {
    let mut script = shared.0.lock();
    script.running += 1;
    script.peak = script.peak.max(script.running);
    let path = seen.path.clone();
    script.seen.push(seen);
    let fixed = script.paths.iter().find(|(it, _)| *it == path);
    match fixed.map(|(_, reply)| reply.clone()) {
        Some(reply) => reply,
        None => {
            let next = script.next.pop_front();
            next.or_else(|| script.then.clone()).expect("a reply")
        }
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|it| *it > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        method,
        path,
        headers,
        body,
        at: Instant::now(),
    })
}

/// Waits until it holds, the stub is killed, or the client has gone.
fn wait(stream: &TcpStream, shared: &Shared, holds: impl Fn(&Script) -> bool) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(5)));
    let mut byte = [0];
    while !shared.1.load(Ordering::SeqCst) && !holds(&shared.0.lock()) {
        if matches!(stream.peek(&mut byte), Ok(0)) {
            return;
        }
    }
}

fn answer(stream: &mut TcpStream, reply: Reply, shared: &Shared) {
    match reply {
        Reply::Whole(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body);
        }
        Reply::Kept(body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body);
        }
        Reply::Half(status, body) => {
            let length = body.len() * 2;
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body);
        }
        Reply::Endless => {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            let chunk = [&b"100000\r\n"[..], &vec![b' '; 1 << 20], b"\r\n"].concat();
            while stream.write_all(&chunk).is_ok() {}
        }
        Reply::Nothing => {}
        Reply::Silence => wait(stream, shared, |_| false),
        Reply::Held(reply) => {
            wait(stream, shared, |script| script.released);
            if !shared.1.load(Ordering::SeqCst) {
                answer(stream, *reply, shared);
            }
        }
    }
}
