//! Tests of pooled connections, with servers that keep them, close them, or send unrequested data.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use hyper::{HeaderMap, Method};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{
    Client, Error, Response,
    testing::{LookUp, ScriptedResolver, client_for, loopback},
};

const PATIENCE: Duration = Duration::from_secs(10);

/// The reaction of a server to a request.
#[derive(Clone, Copy)]
enum Deed {
    Answer,
    /// Closes without `Connection: close`.
    AnswerAndClose,
    Close,
    /// Closes without reading the body.
    CloseUnread,
    /// Sends a second, unrequested response.
    AnswerTwice,
    /// Sends less than the content length.
    AnswerInPart,
    /// Sends something that is not HTTP.
    Babble,
}

/// The events at a server.
#[derive(Default)]
struct ServerEvents {
    /// The index of the connection, and the path.
    requests: Mutex<Vec<(usize, String)>>,
    /// The number of connections that the client or the server has closed.
    ended: watch::Sender<usize>,
}

impl ServerEvents {
    fn requests(&self) -> Vec<(usize, String)> {
        self.requests.lock().clone()
    }

    async fn connections_ended(&self, count: usize) {
        let mut ended = self.ended.subscribe();
        let all = ended.wait_for(|it| *it >= count);
        let all = tokio::time::timeout(PATIENCE, all).await;
        all.expect("the connections end").expect("the server lives");
    }
}

/// A server that reacts the same way on each connection, and repeats its last reaction.
async fn server(deeds: &'static [Deed]) -> (u16, Arc<ServerEvents>) {
    server_at("127.0.0.1:0", deeds).await
}

async fn server_at(address: &str, deeds: &'static [Deed]) -> (u16, Arc<ServerEvents>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(ServerEvents::default());
    let noting = Arc::clone(&seen);
    tokio::spawn(async move {
        for connection in 0.. {
            let Ok((stream, _)) = listener.accept().await else {
                return;
            };
            let seen = Arc::clone(&noting);
            tokio::spawn(async move {
                serve(stream, connection, deeds, &seen).await;
                seen.ended.send_modify(|count| *count += 1);
            });
        }
    });
    (port, seen)
}

async fn serve(mut stream: TcpStream, connection: usize, deeds: &[Deed], seen: &ServerEvents) {
    let mut turn = 0;
    while let Some((path, length)) = next_head(&mut stream).await {
        seen.requests.lock().push((connection, path.clone()));
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}",
            path.len()
        );
        let unasked = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked";
        let deed = deeds[turn.min(deeds.len() - 1)];
        if !matches!(deed, Deed::CloseUnread) {
            let mut body = (&mut stream).take(length);
            if tokio::io::copy(&mut body, &mut tokio::io::sink())
                .await
                .is_err()
            {
                return;
            }
        }
        let text = match deed {
            Deed::Answer | Deed::AnswerAndClose => answer,
            Deed::Close | Deed::CloseUnread => return,
            Deed::AnswerTwice => answer + unasked,
            Deed::AnswerInPart => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart".into(),
            Deed::Babble => "220 mail.example ESMTP\r\n".into(),
        };
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
        if matches!(deed, Deed::AnswerAndClose) {
            return;
        }
        turn += 1;
    }
}

/// The path of the next request and the length of its body. `None` if the client has gone.
async fn next_head(stream: &mut TcpStream) -> Option<(String, u64)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    assert!(!head.contains("connection:"), "{head}");
    let length = head.split_once("content-length: ");
    let length = length.and_then(|(_, rest)| rest.split("\r\n").next()?.parse().ok());
    Some((head.split(' ').nth(1)?.to_owned(), length.unwrap_or(0)))
}

/// A client that keeps idle connections longer than any stall of the machine.
fn client() -> Client {
    egress_with(ScriptedResolver::always("127.0.0.1"))
}

fn egress_with(resolver: Arc<ScriptedResolver>) -> Client {
    let mut options = loopback();
    options.allow.push("127.0.0.3/32".parse().unwrap());
    options.idle_timeout = PATIENCE * 6;
    Client::with_resolver(options, resolver).unwrap()
}

/// Sends a `GET` and returns the body.
async fn ask(client: &Client, host: &str, port: u16, path: &str) -> Result<String, Error> {
    let url = format!("http://{host}:{port}{path}").parse().unwrap();
    let asked = client.send_pooled(Method::GET, &url, HeaderMap::new(), Bytes::new());
    text(asked.await?).await
}

async fn post(client: &Client, port: u16, path: &str, body: Bytes) -> Result<String, Error> {
    let url = format!("http://a.example:{port}{path}").parse().unwrap();
    let asked = client.send_pooled(Method::POST, &url, HeaderMap::new(), body);
    text(asked.await?).await
}

async fn text(mut answer: Response) -> Result<String, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(body).unwrap())
}

async fn asked(client: &Client, port: u16, path: &str) {
    assert_eq!(ask(client, "a.example", port, path).await.unwrap(), path);
}

fn requests(all: &[(usize, &str)]) -> Vec<(usize, String)> {
    all.iter().map(|(at, path)| (*at, (*path).into())).collect()
}

#[tokio::test]
async fn the_next_request_reuses_the_connection() {
    let (port, seen) = server(&[Deed::Answer]).await;
    let client = client();
    for path in ["/1", "/2", "/3"] {
        asked(&client, port, path).await;
    }
    assert_eq!(
        seen.requests(),
        requests(&[(0, "/1"), (0, "/2"), (0, "/3")])
    );
}

#[tokio::test]
async fn concurrent_requests_use_separate_connections() {
    let (port, seen) = server(&[Deed::Answer]).await;
    let client = client();
    tokio::join!(asked(&client, port, "/1"), asked(&client, port, "/2"));
    let mut connections: Vec<usize> = seen.requests().iter().map(|(at, _)| *at).collect();
    connections.sort_unstable();
    assert_eq!(connections, [0, 1]);
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_replaced() {
    let (port, seen) = server(&[Deed::AnswerAndClose]).await;
    let client = client();
    asked(&client, port, "/1").await;
    seen.connections_ended(1).await;
    asked(&client, port, "/2").await;
    assert_eq!(seen.requests(), requests(&[(0, "/1"), (1, "/2")]));
}

#[tokio::test]
async fn a_request_that_was_written_whole_is_not_sent_again() {
    let (port, seen) = server(&[Deed::Answer, Deed::Close]).await;
    let client = client();
    asked(&client, port, "/1").await;
    let answer = ask(&client, "a.example", port, "/2").await;
    assert_eq!(answer, Err(Error::Broken));
    assert_eq!(seen.requests(), requests(&[(0, "/1"), (0, "/2")]));
    let answer = post(&client, port, "/3", Bytes::from_static(b"{}")).await;
    assert_eq!(answer.unwrap(), "/3");
    let answer = post(&client, port, "/4", Bytes::from_static(b"{}")).await;
    assert_eq!(answer, Err(Error::Broken));
    assert_eq!(seen.requests()[2..], requests(&[(1, "/3"), (1, "/4")]));
}

#[tokio::test]
async fn a_partly_written_request_is_sent_again_over_a_new_connection_after_a_close() {
    let (port, seen) = server(&[Deed::Answer, Deed::CloseUnread]).await;
    let client = client();
    asked(&client, port, "/1").await;
    // More than the buffers on the way can hold.
    let body = Bytes::from(vec![b'x'; 64 << 20]);
    let answer = post(&client, port, "/2", body).await;
    assert_eq!(answer.unwrap(), "/2");
    assert_eq!(
        seen.requests(),
        requests(&[(0, "/1"), (0, "/2"), (1, "/2")])
    );
}

#[tokio::test]
async fn a_server_that_closes_without_a_response_gets_each_request_once() {
    let (port, seen) = server(&[Deed::Close]).await;
    let client = client();
    for path in ["/1", "/2"] {
        let answer = ask(&client, "a.example", port, path).await;
        assert_eq!(answer, Err(Error::Broken));
    }
    assert_eq!(seen.requests(), requests(&[(0, "/1"), (1, "/2")]));
}

#[tokio::test]
async fn a_request_with_an_invalid_response_is_not_repeated() {
    let (port, seen) = server(&[Deed::Answer, Deed::Babble]).await;
    let client = client();
    asked(&client, port, "/1").await;
    let answer = ask(&client, "a.example", port, "/2").await;
    assert_eq!(answer, Err(Error::Broken));
    assert_eq!(seen.requests(), requests(&[(0, "/1"), (0, "/2")]));
}

#[tokio::test]
async fn an_unrequested_response_answers_no_request() {
    let (port, _) = server(&[Deed::AnswerTwice]).await;
    let client = client();
    for path in ["/1", "/2", "/3"] {
        asked(&client, port, path).await;
    }
}

#[tokio::test]
async fn a_connection_with_a_partly_read_response_is_closed() {
    let (port, seen) = server(&[Deed::AnswerInPart]).await;
    let client = client();
    let url = format!("http://a.example:{port}/1").parse().unwrap();
    let asked = client.send_pooled(Method::GET, &url, HeaderMap::new(), Bytes::new());
    let mut answer = asked.await.unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "part");
    drop(answer);
    seen.connections_ended(1).await;
}

#[tokio::test]
async fn hosts_at_one_address_do_not_share_a_connection() {
    let (port, seen) = server(&[Deed::Answer]).await;
    let client = client();
    for host in ["a.example", "b.example"] {
        assert_eq!(ask(&client, host, port, "/").await.unwrap(), "/");
    }
    assert_eq!(seen.requests(), requests(&[(0, "/"), (1, "/")]));
}

#[tokio::test]
async fn a_name_that_becomes_private_is_rejected_even_if_a_connection_is_pooled() {
    let (port, seen) = server(&[Deed::Answer]).await;
    let (_, never) = server_at(&format!("127.0.0.2:{port}"), &[Deed::Answer]).await;
    let answers = [LookUp::of(&["127.0.0.1"]), LookUp::of(&["127.0.0.2"])];
    let client = egress_with(ScriptedResolver::new(answers));
    asked(&client, port, "/1").await;
    let answer = ask(&client, "a.example", port, "/2").await;
    assert_eq!(answer, Err(Error::NotPublic));
    assert_eq!(seen.requests(), requests(&[(0, "/1")]));
    assert!(never.requests().is_empty());
}

#[tokio::test]
async fn a_name_with_a_new_address_is_followed_even_if_a_connection_is_pooled() {
    let (port, old) = server(&[Deed::Answer]).await;
    let (_, new) = server_at(&format!("127.0.0.3:{port}"), &[Deed::Answer]).await;
    let answers = [LookUp::of(&["127.0.0.1"]), LookUp::of(&["127.0.0.3"])];
    let client = egress_with(ScriptedResolver::new(answers));
    asked(&client, port, "/1").await;
    asked(&client, port, "/2").await;
    assert_eq!(old.requests(), requests(&[(0, "/1")]));
    assert_eq!(new.requests(), requests(&[(0, "/2")]));
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let (port, seen) = server(&[Deed::Answer]).await;
    let client = client_for(ScriptedResolver::always("127.0.0.1"), PATIENCE);
    for number in 1..=2 {
        asked(&client, port, "/").await;
        seen.connections_ended(number).await;
    }
    assert_eq!(seen.requests(), requests(&[(0, "/"), (1, "/")]));
}
