//! A scripted HTTP server on loopback that can also send malformed answers.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const IO_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Call {
    pub method: String,
    /// With the query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Call {
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |(it, _): &&(String, String)| it.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        url::form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path())
    }
}

pub enum Reply {
    /// Status, media type, body.
    Full(u16, &'static str, Vec<u8>),
    /// Sends these bytes and closes the connection.
    Raw(Vec<u8>),
    /// Sends nothing until the client disconnects.
    Silence,
    /// Hands the connection to the test.
    Upgrade(Box<dyn FnOnce(TcpStream) + Send>),
}

pub fn json(status: u16, body: &Value) -> Reply {
    Reply::Full(status, "application/json", body.to_string().into_bytes())
}

pub fn text(status: u16, body: &str) -> Reply {
    Reply::Full(status, "text/plain; charset=utf-8", body.into())
}

type Serve = dyn Fn(&Call) -> Reply + Send + Sync;

/// Stops listening when dropped.
pub struct Peer {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    pub fn start(serve: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let stopped = Arc::new(AtomicBool::new(false));
        let (flag, serve): (_, Arc<Serve>) = (Arc::clone(&stopped), Arc::new(serve));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                let serve = Arc::clone(&serve);
                if let Ok(stream) = stream {
                    thread::spawn(move || serve_connection(stream, &*serve));
                }
            }
        });
        Self {
            address,
            stopped,
            thread: Some(thread),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A URL without a listener.
pub fn unreachable_url() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

/// Serves a keep-alive connection until it ends.
fn serve_connection(stream: TcpStream, serve: &Serve) {
    let _ = stream.set_read_timeout(Some(IO_TIMEOUT));
    let _ = stream.set_write_timeout(Some(IO_TIMEOUT));
    let _ = stream.set_nodelay(true);
    let Ok(mut writer) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(stream);
    while let Some(call) = read(&mut reader) {
        match serve(&call) {
            Reply::Full(status, kind, body) => {
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
                );
                if writer.write_all(head.as_bytes()).is_err() || writer.write_all(&body).is_err() {
                    return;
                }
            }
            Reply::Raw(bytes) => {
                let _ = writer.write_all(&bytes);
                return;
            }
            // Returns when the client disconnects.
            Reply::Silence => drop(reader.read(&mut [0])),
            Reply::Upgrade(take) => return take(writer),
        }
    }
}

/// Reads the next call of a connection, if any.
pub fn read(reader: &mut BufReader<TcpStream>) -> Option<Call> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut call = Call {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    let length = call.header("content-length").map_or(Ok(0), str::parse);
    call.body = vec![0; length.ok()?];
    reader.read_exact(&mut call.body).ok()?;
    Some(call)
}
