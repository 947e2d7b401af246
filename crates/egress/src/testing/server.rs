//! A scripted HTTP server on loopback, which can also send malformed responses.

use std::{
    fmt::{self, Display},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;

const IO_TIMEOUT: Duration = Duration::from_secs(60);

/// A request with its complete body.
#[derive(Clone)]
pub struct ReceivedRequest {
    pub method: String,
    /// With the query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub at: Instant,
}

impl ReceivedRequest {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The only value of a header; panics if there are none or several.
    #[track_caller]
    pub fn only_header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(it, _)| it == name);
        let value = values.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(values.next().is_none(), "{name} appears twice");
        &value.1
    }

    /// The method and the target.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    /// The method and the path.
    pub fn route(&self) -> String {
        format!("{} {}", self.method, self.path())
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

    /// The body; `Null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Shows the body as text.
impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedRequest")
            .field("line", &self.line())
            .field("headers", &self.headers)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish_non_exhaustive()
    }
}

/// The reaction to a request. Except after `Full`, the connection closes.
#[derive(Clone)]
pub enum Reply {
    /// Status, media type and body. The connection stays open for the next request.
    Full(u16, &'static str, Vec<u8>),
    /// A status without a body.
    Status(u16),
    Raw(Vec<u8>),
    /// Sends these bytes, then nothing until the client disconnects.
    Begin(Vec<u8>),
    /// Sends nothing until the client disconnects.
    Silence,
    /// Passes the connection to the test.
    Handler(Arc<dyn Fn(&mut TcpStream) + Send + Sync>),
}

pub fn json(status: u16, body: &Value) -> Reply {
    Reply::Full(status, "application/json", body.to_string().into_bytes())
}

pub fn text(status: u16, body: &str) -> Reply {
    Reply::Full(status, "text/plain; charset=utf-8", body.into())
}

/// A complete response that closes the connection. `status` is a code, or a code and a reason. `headers` is empty or ends with CR LF.
pub fn response(status: impl Display, headers: &str, body: &[u8]) -> Vec<u8> {
    let status = status.to_string();
    let length = match status.starts_with("204") {
        true => String::new(),
        false => format!("Content-Length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} \r\n{headers}{length}Connection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A URL without a listener.
pub fn unreachable_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

type Respond = dyn Fn(&ReceivedRequest) -> Reply + Send + Sync;

#[derive(Default)]
struct State {
    stopped: AtomicBool,
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

/// Stops listening when dropped.
pub struct ScriptedServer {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    pub fn start(respond: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1", respond)
    }

    /// Starts a server on another loopback address.
    pub fn start_at(
        host: &str,
        respond: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((host, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (state, respond): (_, Arc<Respond>) = (Arc::<State>::default(), Arc::new(respond));
        let serving = Arc::clone(&state);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let Ok(stream) = stream else { continue };
                let (state, respond) = (Arc::clone(&serving), Arc::clone(&respond));
                thread::spawn(move || {
                    let open = state.open.fetch_add(1, Ordering::SeqCst) + 1;
                    state.most_open.fetch_max(open, Ordering::SeqCst);
                    serve_connection(stream, &*respond);
                    state.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            address,
            state,
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Lets the server run until the process ends.
    pub fn detach(self) {
        std::mem::forget(self);
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }

    /// The maximum of concurrently open connections.
    pub fn most_open(&self) -> usize {
        self.state.most_open.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Responds until the connection ends. Write errors are ignored: the client may have disconnected.
fn serve_connection(stream: TcpStream, respond: &Respond) {
    let _ = stream.set_read_timeout(Some(IO_TIMEOUT));
    let _ = stream.set_write_timeout(Some(IO_TIMEOUT));
    let _ = stream.set_nodelay(true);
    let Ok(mut writer) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let (bytes, is_begun) = match respond(&request) {
            Reply::Full(status, kind, body) => {
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
                );
                match writer.write_all(&[head.as_bytes(), &body].concat()) {
                    Ok(()) => continue,
                    Err(_) => return,
                }
            }
            Reply::Status(status) => (response(status, "", b""), false),
            Reply::Raw(bytes) => (bytes, false),
            Reply::Begin(bytes) => (bytes, true),
            Reply::Silence => (Vec::new(), true),
            Reply::Handler(handle) => return handle(&mut writer),
        };
        if writer.write_all(&bytes).is_ok() && is_begun {
            let _ = writer.set_read_timeout(None);
            while reader.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        }
        return;
    }
}

/// Reads the next request of a connection, if any.
fn read(reader: &mut BufReader<TcpStream>) -> Option<ReceivedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = ReceivedRequest {
        method,
        target,
        headers,
        body: Vec::new(),
        at: Instant::now(),
    };
    let length = request.header("content-length").map_or(Ok(0), str::parse);
    request.body = vec![0; length.ok()?];
    reader.read_exact(&mut request.body).ok()?;
    assert!(reader.buffer().is_empty(), "more than the declared length");
    Some(request)
}
