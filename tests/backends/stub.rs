//! A back end that does as a test says, and remembers what it was asked.

use crate::peer::{self, Call, Peer};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

impl From<Call> for Seen {
    fn from(call: Call) -> Self {
        let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        Self {
            method: call.method,
            path: call.target,
            headers: call.headers.into_iter().map(lower).collect(),
            body: call.body,
            at: Instant::now(),
        }
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
    StoredUpload(Box<Reply>),
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
        Self::StoredUpload(Box::new(self))
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
    late: usize,
    released: bool,
}

type Shared = Arc<(Mutex<Script>, AtomicBool)>;

/// The stub. It stops listening when it goes out of scope, or is killed.
pub struct Stub {
    pub address: SocketAddr,
    shared: Shared,
    peer: Option<Peer>,
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
        let serving = Arc::clone(&shared);
        let peer = Peer::start(move |call| {
            let (shared, first) = (Arc::clone(&serving), Seen::from(call.clone()));
            peer::Reply::Upgrade(Box::new(move |stream| serve(stream, first, &shared)))
        });
        Self {
            address: peer.address(),
            shared,
            peer: Some(peer),
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

    /// How many answers it has sent to somebody who waited for them no more.
    pub fn late(&self) -> usize {
        self.shared.0.lock().late
    }

    /// Lets go of all answers that are held, now and later.
    pub fn release(&self) {
        self.shared.0.lock().released = true;
    }

    /// Takes no connection any more, and breaks off those that it has.
    pub fn kill(&mut self) {
        self.shared.1.store(true, Ordering::SeqCst);
        self.peer = None;
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Serves a connection whose first call has come.
fn serve(mut stream: TcpStream, first: Seen, shared: &Shared) {
    shared.0.lock().connections += 1;
    let Ok(second) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(second);
    let mut seen = Some(first);
    while let Some(it) = seen {
        let reply = next(it, shared);
        let stays = matches!(reply, Reply::Kept(_));
        answer(&mut stream, reply, shared);
        shared.0.lock().running -= 1;
        if !stays {
            return;
        }
        seen = peer::read(&mut reader).map(Seen::from);
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
        Reply::StoredUpload(reply) => {
            wait(stream, shared, |script| script.released);
            if !shared.1.load(Ordering::SeqCst) {
                answer(stream, *reply, shared);
                let mut script = shared.0.lock();
                script.late += usize::from(!script.released);
            }
        }
    }
}
