//! A keep-alive connection of the load generator, its requests and answers.

use anyhow::{Context as _, bail, ensure};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The call that creates a job.
const CREATE: &str = "/api/v1/text-generations";
const BODY: &str = r#"{"prompt":"a red fox in the snow at dawn, woodcut","aspect_ratio":"16:9","metadata":{"order":1234,"customer":"c-77"}}"#;
/// The end of a chunked answer.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
const ID_CHARS: usize = 36;

pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

pub struct Answer<'a> {
    pub status: &'a [u8],
    /// All bytes, including the head.
    pub whole: &'a [u8],
}

impl Answer<'_> {
    /// Fails unless the status is this one.
    pub fn expect(&self, status: &str) -> anyhow::Result<()> {
        let text = || String::from_utf8_lossy(self.whole).into_owned();
        ensure!(self.status == status.as_bytes(), "wrong answer: {}", text());
        Ok(())
    }

    /// The first job id in the answer.
    pub fn job_id(&self) -> anyhow::Result<&str> {
        job_id(self.whole).context("an answer without a job id")
    }

    /// Whether the head has this field. In lower case, as all servers here write it.
    pub fn has_header(&self, name: &str) -> bool {
        let line = format!("\r\n{name}: ");
        find(self.whole, line.as_bytes()).is_some()
    }
}

impl Wire {
    pub async fn open(to: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; 16 * 1024],
        })
    }

    /// Sends a request and reads its answer, which has a length.
    pub async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        let is_whole = |text: &[u8]| {
            let Some(head) = find(text, b"\r\n\r\n") else {
                return Ok(false);
            };
            Ok(text.len() >= head + 4 + content_length(&text[..head])?)
        };
        self.read_until(is_whole).await
    }

    /// Sends a request and reads its chunked answer.
    pub async fn follow(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.read_until(|text| Ok(text.ends_with(LAST_CHUNK))).await
    }

    async fn read_until(
        &mut self,
        is_whole: impl Fn(&[u8]) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Answer<'_>> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                bail!("the server closed a connection");
            }
            filled += read;
            if is_whole(&self.buffer[..filled])? {
                break;
            }
        }
        let whole = &self.buffer[..filled];
        let status = whole.get(9..12).context("no status")?;
        Ok(Answer { status, whole })
    }
}

/// A request for a new job.
pub fn post(key: &str, idempotency: Option<&str>) -> Vec<u8> {
    let idempotency = idempotency
        .map(|name| format!("Idempotency-Key: {name}\r\n"))
        .unwrap_or_default();
    format!(
        "POST {CREATE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{idempotency}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

/// A request for a batch of this many jobs.
pub fn post_batch(key: &str, requests: usize) -> Vec<u8> {
    let fields = BODY.strip_prefix('{').unwrap_or(BODY);
    let request = format!(r#"{{"model":"pro",{fields}"#);
    let body = format!(r#"{{"requests":[{}]}}"#, vec![request; requests].join(","));
    format!(
        "POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A `GET` of this path relative to `/api/v1`.
pub fn get(key: &str, path: &str) -> Vec<u8> {
    format!("GET /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n")
        .into_bytes()
}

/// A readiness check.
pub fn get_ready() -> Vec<u8> {
    b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()
}

/// A `GET` of this path relative to `/admin/v1`.
pub fn get_as_operator(token: &str, path: &str) -> Vec<u8> {
    format!(
        "GET /admin/v1/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .into_bytes()
}

/// A `PUT` of this path relative to `/admin/v1`.
pub fn put_as_operator(token: &str, path: &str, body: &str) -> Vec<u8> {
    format!(
        "PUT /admin/v1/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends one request on a new connection; returns the status and the whole answer.
pub fn call(to: SocketAddr, request: &[u8]) -> anyhow::Result<(String, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut wire = Wire::open(to).await?;
        let answer = wire.exchange(request).await?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(answer.status), text(answer.whole)))
    })
}

/// The first job id in a text.
pub fn job_id(text: &[u8]) -> Option<&str> {
    let name = b"\"job_id\":\"";
    let at = find(text, name)? + name.len();
    std::str::from_utf8(text.get(at..at + ID_CHARS)?).ok()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    let name = b"content-length: ";
    let at = find(head, name).context("an answer without a Content-Length")? + name.len();
    let digits: Vec<u8> = head[at..]
        .iter()
        .copied()
        .take_while(u8::is_ascii_digit)
        .collect();
    Ok(String::from_utf8(digits)?.parse()?)
}
