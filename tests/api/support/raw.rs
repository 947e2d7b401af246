//! A raw connection, for bytes that a well-behaved client would not send.

use super::http::{Answer, parse_head};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// The timeout of a read or a write.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection and the bytes read past the last answer.
pub struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Wire {
    pub fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// Opens a connection and sends these bytes at once: the server limits the time from the connect to the end of the head, so no
    /// connection may wait until others are open.
    pub fn begin(to: SocketAddr, bytes: &[u8]) -> Self {
        let mut wire = Self::open(to);
        wire.send(bytes);
        wire
    }

    /// Wraps a connection that has been used already.
    pub fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// Sends bytes as they are. A closed peer shows when the test reads the answer.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends bytes; false if the write fails.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Shuts down the sending side.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Closes with a reset.
    pub fn reset(self) {
        let socket = socket2::Socket::from(self.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Reads the next final answer; `None` if the connection ends or resets before one begins.
    pub fn answer_to(&mut self, method: &str) -> Option<Answer> {
        loop {
            let answer = self.next_answer(method)?;
            if answer.status != 100 {
                return Some(answer);
            }
        }
    }

    /// Reads the next answer, interim ones included. `method` says whether it may have a body.
    pub fn next_answer(&mut self, method: &str) -> Option<Answer> {
        let end = loop {
            if let Some(at) = find(&self.read, b"\r\n\r\n") {
                break at;
            }
            if !self.more() {
                assert!(
                    self.read.is_empty(),
                    "half an answer: {:?}",
                    self.leftover()
                );
                return None;
            }
        };
        let head = String::from_utf8(self.read[..end].to_vec()).unwrap();
        self.read.drain(..end + 4);
        let (status, headers) = parse_head(&head);
        let value = |name: &str| {
            let found = headers.iter().find(|(it, _)| it == name);
            found.map(|(_, value)| value.clone())
        };
        let bodiless = method == "HEAD" || status < 200 || status == 204 || status == 304;
        let body = match (value("transfer-encoding"), value("content-length")) {
            _ if bodiless => Vec::new(),
            (Some(_), _) => self.chunks(),
            (None, Some(length)) => self.take(length.parse().unwrap()),
            (None, None) => self.rest(),
        };
        Some(Answer {
            status,
            headers,
            body,
        })
    }

    /// Reads more bytes and returns whether this text has arrived. Consumes nothing.
    pub fn peek(&mut self, text: &str) -> bool {
        find(&self.read, text.as_bytes()).is_some() || {
            self.more();
            find(&self.read, text.as_bytes()).is_some()
        }
    }

    /// Reads all answers until the peer closes.
    pub fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(answer) = self.answer_to("GET") {
            answers.push(answer);
        }
        answers
    }

    /// Whether the peer has closed, or closes before it sends more.
    pub fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.more()
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.read.len() < count {
            assert!(self.more(), "the body broke off: {:?}", self.leftover());
        }
        self.read.drain(..count).collect()
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match find(&self.read, b"\r\n") {
                    Some(at) => break at,
                    None => assert!(self.more(), "a chunk broke off"),
                }
            };
            let line = self.take(end + 2);
            let size = String::from_utf8_lossy(&line[..end]).into_owned();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            body.extend(self.take(size));
            self.take(2);
            if size == 0 {
                return body;
            }
        }
    }

    fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.read)
    }

    fn leftover(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Reads more bytes; false at the end of the connection.
    fn more(&mut self) -> bool {
        let mut buffer = [0; 16_384];
        match self.stream.read(&mut buffer) {
            // A signal, such as that of a debugger, is no answer.
            Err(error) if error.kind() == ErrorKind::Interrupted => self.more(),
            Ok(0) => false,
            Ok(count) => {
                self.read.extend(&buffer[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing to read: {error}"),
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}
