//! A web server on loopback that serves input images, well-formed or malformed.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use tintype_egress::testing::server::{ReceivedRequest, Reply, ScriptedServer, response};

/// Writes the answer to a request. The connection closes afterwards.
pub type Serve = Arc<dyn Fn(&mut TcpStream) + Send + Sync>;

/// Stops when dropped.
pub struct Origin(ScriptedServer);

impl Origin {
    /// Serves these paths with any query; other paths answer 404.
    pub fn start<const N: usize>(routes: [(&str, Serve); N]) -> Self {
        Self::with(routes.map(|(path, serve)| (path.to_owned(), serve)))
    }

    /// Like [`Self::start`], for any number of paths.
    pub fn with(routes: impl IntoIterator<Item = (String, Serve)>) -> Self {
        let routes: HashMap<String, Serve> = routes.into_iter().collect();
        let answer = move |request: &ReceivedRequest| match routes.get(request.path()) {
            Some(serve) => Reply::Handler(Arc::clone(serve)),
            None => Reply::Status(404),
        };
        Self(ScriptedServer::start(answer))
    }

    /// Serves nothing and counts connections.
    pub fn trap() -> Self {
        Self::trap_at("127.0.0.1")
    }

    /// A trap on another loopback address.
    pub fn trap_at(host: &str) -> Self {
        Self(ScriptedServer::start_at(host, |_| Reply::Status(404)))
    }

    pub fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    pub fn port(&self) -> u16 {
        self.0.address().port()
    }

    /// Number of accepted connections.
    pub fn accepted(&self) -> usize {
        self.0.connections()
    }
}

/// Writes a complete answer. `headers` is empty or ends with CR LF. Ignores a closed connection.
pub fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    drop(stream.write_all(&response(status, headers, body)));
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
