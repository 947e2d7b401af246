//! A trace collector on loopback, also used as a webhook receiver: it records each POST.

use crate::support::poll::until_some;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct ReceivedExport {
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// What.
    pub body: Value,
}

impl ReceivedExport {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(it, _)| it == name)?;
        Some(found.1.as_str())
    }
}

#[derive(Default)]
struct Shared {
    received: Mutex<Vec<ReceivedExport>>,
    answers: Mutex<VecDeque<(u16, String)>>,
    over: AtomicBool,
}

/// The collector. It stops when it goes out of scope.
pub struct Collector {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// One that takes everything.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if own.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&own);
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

    /// A URL of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers the next post that has no answer yet with this status and these further header lines.
    pub fn answer_next(&self, status: u16, headers: &[&str]) {
        let headers = headers.iter().map(|it| format!("{it}\r\n")).collect();
        self.shared.answers.lock().push_back((status, headers));
    }

    /// What was posted so far.
    pub fn received(&self) -> Vec<ReceivedExport> {
        self.shared.received.lock().clone()
    }

    /// The spans that were posted so far and taken, in no order.
    pub fn spans(&self) -> Vec<Value> {
        let mut spans = Vec::new();
        for received in self.received() {
            for resource in received.body["resourceSpans"].as_array().unwrap() {
                for scope in resource["scopeSpans"].as_array().unwrap() {
                    spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
                }
            }
        }
        spans
    }

    /// The span of this name, once it is there.
    pub fn span(&self, name: &str) -> Value {
        until_some(&format!("the span `{name}` is there"), || {
            self.spans().into_iter().find(|span| span["name"] == name)
        })
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
    let Some(received) = read(&stream) else {
        return;
    };
    let answer = shared.answers.lock().pop_front();
    let (status, headers) = answer.unwrap_or((200, String::new()));
    if (200..300).contains(&status) {
        shared.received.lock().push(received);
    }
    let answer = format!(
        "HTTP/1.1 {status} So\r\n{headers}Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    let _ = stream.write_all(answer.as_bytes());
}

fn read(stream: &TcpStream) -> Option<ReceivedExport> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ")?;
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(it, _)| it == "content-length")?;
    let mut body = vec![0; length.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedExport {
        path,
        headers,
        body: serde_json::from_slice(&body).ok()?,
    })
}
