//! A web server on loopback that serves input images, well-formed or malformed.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Writes the answer to a connection whose request head has been read. The connection closes afterwards.
pub type Serve = Arc<dyn Fn(&mut TcpStream) + Send + Sync>;

/// Stops when dropped.
pub struct Origin {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    /// Serves these paths with any query; other paths answer 404.
    pub fn start<const N: usize>(routes: [(&str, Serve); N]) -> Self {
        Self::start_at("127.0.0.1", routes)
    }

    /// Like [`Self::start`], for any number of paths.
    pub fn with(routes: impl IntoIterator<Item = (String, Serve)>) -> Self {
        Self::serving("127.0.0.1", routes.into_iter().collect())
    }

    fn start_at<const N: usize>(host: &str, routes: [(&str, Serve); N]) -> Self {
        let routes = routes.map(|(path, serve)| (path.to_owned(), serve));
        Self::serving(host, routes.into())
    }

    fn serving(host: &str, routes: HashMap<String, Serve>) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Arc::new(routes);
        let (accepted, over) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (counted, ended) = (Arc::clone(&accepted), Arc::clone(&over));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let routes = Arc::clone(&routes);
                if let Ok(stream) = stream {
                    thread::spawn(move || answer(stream, &routes));
                }
            }
        });
        Self {
            address,
            accepted,
            over,
            thread: Some(thread),
        }
    }

    /// Serves nothing and counts connections.
    pub fn trap() -> Self {
        Self::start([])
    }

    /// A trap on another loopback address.
    pub fn trap_at(host: &str) -> Self {
        Self::start_at(host, [])
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Number of accepted connections.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, routes: &HashMap<String, Serve>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
    let _ = stream.set_write_timeout(Some(Duration::from_secs(30)));
    let Ok(reading) = stream.try_clone() else {
        return;
    };
    let mut lines = BufReader::new(reading).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    for line in lines {
        match line {
            Ok(line) if line.is_empty() => break,
            Ok(_) => {}
            Err(_) => return,
        }
    }
    let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default();
    match routes.get(path) {
        Some(serve) => serve(&mut stream),
        None => reply(&mut stream, "404 Not Found", "", b""),
    }
}

/// Writes a complete answer. `headers` is empty or ends with CR LF. Ignores a closed connection.
pub fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

pub fn bytes(body: Vec<u8>) -> Serve {
    Arc::new(move |stream| reply(stream, "200 OK", "", &body))
}

/// Answers with this status and these headers, without a body.
pub fn status(status: &'static str, headers: String) -> Serve {
    Arc::new(move |stream| reply(stream, status, &headers, b""))
}

/// Sends malformed HTTP and closes.
pub fn raw(text: Vec<u8>) -> Serve {
    Arc::new(move |stream| drop(stream.write_all(&text)))
}
