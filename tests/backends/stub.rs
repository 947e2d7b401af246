//! A scripted backend that records its requests.

use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_egress::testing::server::{self, ReceivedRequest, ScriptedServer, response};

/// The connection closes after each reply except `KeepAlive`.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Status line, further header lines, body.
    Whole(&'static str, String, Vec<u8>),
    /// A JSON body; the connection stays open for the next request.
    KeepAlive(Vec<u8>),
    /// A body of half the announced length.
    Half(&'static str, Vec<u8>),
    /// An endless chunked body.
    Endless,
    /// Closes the connection without sending a byte.
    Nothing,
    /// Sends nothing until the stub stops or the client disconnects.
    Silence,
    /// Sends the reply once the test releases it.
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
    seen: Vec<ReceivedRequest>,
    running: usize,
    peak: usize,
    late: usize,
    released: bool,
}

type Shared = Arc<(Mutex<Script>, AtomicBool)>;

/// Stops listening when dropped or killed.
pub struct Stub {
    pub address: SocketAddr,
    shared: Shared,
    server: Option<ScriptedServer>,
}

impl Stub {
    /// Sends these replies in turn, then repeats the last one.
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
        let server = ScriptedServer::start(move |request| respond(request, &serving));
        Self {
            address: server.address(),
            shared,
            server: Some(server),
        }
    }

    /// Sends this reply on this path, independent of the script.
    pub fn on(self, path: &str, reply: Reply) -> Self {
        self.shared.0.lock().paths.push((path.to_owned(), reply));
        self
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.shared.0.lock().seen.clone()
    }

    /// The only request so far.
    pub fn only(&self) -> ReceivedRequest {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen.remove(0)
    }

    /// The maximum of concurrent requests.
    pub fn peak(&self) -> usize {
        self.shared.0.lock().peak
    }

    pub fn connections(&self) -> usize {
        self.server.as_ref().map_or(0, ScriptedServer::connections)
    }

    pub fn running(&self) -> usize {
        self.shared.0.lock().running
    }

    /// The number of answers sent after the client had given up.
    pub fn late_answers(&self) -> usize {
        self.shared.0.lock().late
    }

    /// Releases all held replies, also later ones.
    pub fn release(&self) {
        self.shared.0.lock().released = true;
    }

    /// Stops listening and closes all connections.
    pub fn kill(&mut self) {
        self.shared.1.store(true, Ordering::SeqCst);
        self.server = None;
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.kill();
    }
}

fn respond(request: &ReceivedRequest, shared: &Shared) -> server::Reply {
    let reply = next(request, shared);
    if let Reply::KeepAlive(body) = reply {
        shared.0.lock().running -= 1;
        return server::Reply::Full(200, "application/json", body);
    }
    let shared = Arc::clone(shared);
    server::Reply::Handler(Arc::new(move |stream| {
        answer(stream, reply.clone(), &shared);
        shared.0.lock().running -= 1;
    }))
}

fn next(request: &ReceivedRequest, shared: &Shared) -> Reply {
    let mut script = shared.0.lock();
    script.running += 1;
    script.peak = script.peak.max(script.running);
    script.seen.push(request.clone());
    let mut paths = script.paths.iter();
    let fixed = paths.find(|(path, _)| *path == request.target);
    match fixed.map(|(_, reply)| reply.clone()) {
        Some(reply) => reply,
        None => {
            let next = script.next.pop_front();
            next.or_else(|| script.then.clone()).expect("a reply")
        }
    }
}

/// Waits until the condition holds, the stub is killed, or the client disconnects.
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
            drop(stream.write_all(&response(status, &headers, &body)));
        }
        Reply::KeepAlive(_) => unreachable!("the server sends it"),
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
                let mut script = shared.0.lock();
                script.late += usize::from(!script.released);
            }
        }
    }
}
