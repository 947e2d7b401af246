//! An HTTP client that reports whether a connection ended before the first byte of an answer or within the answer.

use crate::test_directory::until;
use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(180);
const MAX_HEADERS: usize = 100;

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |(it, _): &&(String, String)| it.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {text}"))
    }

    /// The id of the accepted job.
    pub fn accepted(&self) -> String {
        let body = self.json();
        assert_eq!(self.status, 202, "{body}");
        assert_eq!(body["status"], "queued");
        body["job_id"].as_str().expect("an id").to_owned()
    }
}

#[derive(Debug)]
pub enum Cut {
    /// No byte of the answer arrived.
    Unanswered,
    /// The connection ended within the answer.
    Midway(String),
}

/// A keep-alive connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    pub fn call(&mut self, head: &str, body: &str) -> Result<Answer, Cut> {
        let length = body.len();
        let request =
            format!("{head}\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}");
        self.stream
            .get_mut()
            .write_all(request.as_bytes())
            .map_err(|_| Cut::Unanswered)?;
        let first = self.line().map_err(|_| Cut::Unanswered)?;
        if first.is_empty() {
            return Err(Cut::Unanswered);
        }
        self.rest(&first)
            .map_err(|error| Cut::Midway(format!("{first}: {error}")))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line)
    }

    fn rest(&mut self, first: &str) -> io::Result<Answer> {
        let broken = |what: &str| io::Error::other(what.to_owned());
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut answer = Answer {
            status: status.ok_or_else(|| broken("no status"))?,
            headers: Vec::new(),
            body: Vec::new(),
        };
        for _ in 0..MAX_HEADERS {
            let line = self.line()?;
            if line == "\r\n" {
                let length = answer.header("content-length").map(str::parse);
                let length = length.and_then(Result::ok).unwrap_or(0);
                answer.body = vec![0; length];
                self.stream.read_exact(&mut answer.body)?;
                return Ok(answer);
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken("no header"))?;
            answer.headers.push((name.into(), value.trim().into()));
        }
        Err(broken("too many headers"))
    }
}

/// A caller with an API key.
#[derive(Clone)]
pub struct Client {
    pub address: String,
    key: String,
}

impl Client {
    pub fn new(address: &str, key: &str) -> Self {
        Self {
            address: address.to_owned(),
            key: key.to_owned(),
        }
    }

    /// The head of a request, without the headers that the connection adds.
    fn head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nAuthorization: Bearer {}",
            self.key
        )
    }

    /// One call on a new connection.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let mut connection = Connection::open(&self.address).expect("a connection");
        let (head, body) = match body {
            Some(body) => (
                self.head(method, path) + "\r\nContent-Type: application/json",
                body.to_string(),
            ),
            None => (self.head(method, path), String::new()),
        };
        connection.call(&head, &body).expect("an answer")
    }

    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None)
    }

    /// Creates a job for a small image with an idempotency key, on a given connection.
    pub fn create_small(&self, connection: &mut Connection, name: &str) -> Result<Answer, Cut> {
        let body = json!({"prompt": name, "aspect_ratio": "1:1"});
        connection.call(&self.small("text-generations", name), &body.to_string())
    }

    /// The same on a new connection; panics on failure.
    pub fn create_small_now(&self, name: &str) -> Answer {
        let mut connection = Connection::open(&self.address).expect("a connection");
        self.create_small(&mut connection, name).expect("an answer")
    }

    /// Creates a job with an input image.
    pub fn create_from(
        &self,
        connection: &mut Connection,
        name: &str,
        input: &str,
    ) -> Result<Answer, Cut> {
        let body = json!({"prompt": name, "aspect_ratio": "1:1", "input_images_urls": [input]});
        connection.call(&self.small("url-generations", name), &body.to_string())
    }

    fn small(&self, endpoint: &str, name: &str) -> String {
        self.head("POST", &format!("/api/v1/nb/{endpoint}"))
            + "\r\nContent-Type: application/json\r\nIdempotency-Key: "
            + name
    }

    /// Creates a slow job: 2K takes seconds, 4K four times as long.
    pub fn create_slow(&self, resolution: &str) -> String {
        let body =
            json!({"prompt": "a slow picture", "aspect_ratio": "1:1", "resolution": resolution});
        self.call("POST", "/api/v1/text-generations", Some(&body))
            .accepted()
    }

    pub fn job(&self, id: &str) -> Value {
        let answer = self.get(&format!("/api/v1/jobs/{id}"));
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()
    }

    /// Is the job live? `None` without an answer.
    pub fn live(&self, id: &str) -> Option<bool> {
        let mut connection = Connection::open(&self.address).ok()?;
        let head = self.head("GET", &format!("/api/v1/jobs/{id}"));
        let answer = connection.call(&head, "").ok()?;
        let job = answer.json();
        // After a storage failure the service refuses every call.
        (answer.status == 200).then(|| job["finished_at"].is_null())
    }

    /// Waits until the job has this status.
    pub fn job_when(&self, id: &str, status: &str) -> Value {
        until(&format!("job {id} is {status}"), || {
            Some(self.job(id)).filter(|job| job["status"] == status)
        })
    }

    /// Waits until the job has ended.
    pub fn job_when_ended(&self, id: &str) -> Value {
        until(&format!("job {id} has ended"), || {
            Some(self.job(id)).filter(|job| !job["finished_at"].is_null())
        })
    }

    /// Does the service answer?
    pub fn look(&self, connection: &mut Connection) -> Result<(), Cut> {
        connection
            .call(&self.head("GET", "/healthz"), "")
            .map(|_| ())
    }

    pub fn money(&self) -> (String, String) {
        let body = self.get("/api/v1/balance").json();
        let text = |field: &str| body[field].as_str().expect("an amount").to_owned();
        (text("balance"), text("reserved"))
    }
}
