//! Tests of the client with resolvers that lie and listeners that count connections.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

use crate::{
    Client, ClientOptions, Error,
    testing::{LookUp, ScriptedResolver, client_for, get, loopback},
};

const PATIENCE: Duration = Duration::from_secs(10);

/// Echoes the head of every request with status 200, and counts connections.
async fn echo(address: &str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let bound = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else {
                        return;
                    };
                    head.push(byte);
                }
                let start = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", head.len());
                let _ = stream.write_all(&[start.as_bytes(), &head].concat()).await;
            });
        }
    });
    (bound, count)
}

fn one(answer: &LookUp) -> Client {
    client_for(ScriptedResolver::new([answer.clone()]), PATIENCE)
}

#[tokio::test]
async fn a_permitted_address_is_reached_with_the_configured_user_agent() {
    let (server, count) = echo("127.0.0.1:0").await;
    let port = server.port();
    let options = ClientOptions {
        user_agent: Some("tester/1".parse().unwrap()),
        ..loopback()
    };
    let client = Client::with_resolver(options, ScriptedResolver::always("127.0.0.1")).unwrap();
    let head = get(&client, &format!("http://pictures.example:{port}/a?b"))
        .await
        .unwrap();
    assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
    let lower = head.to_lowercase();
    assert!(
        lower.contains(&format!("host: pictures.example:{port}\r\n")),
        "{head}"
    );
    assert!(lower.contains("user-agent: tester/1\r\n"), "{head}");
    assert!(lower.contains("connection: close\r\n"), "{head}");
    assert_eq!(client.refusals(), 0);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn refuses_literal_addresses_in_every_spelling() {
    let (server, count) = echo("127.0.0.2:0").await;
    let (v6, count6) = echo("[::1]:0").await;
    let port = server.port();
    let urls = [
        format!("http://127.0.0.2:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        format!("http://[::ffff:7f00:2]:{port}/"),
        format!("http://[::1]:{}/", v6.port()),
        format!("https://127.0.0.2:{port}/"),
        format!("https://[::ffff:127.0.0.2]:{port}/"),
    ];
    let client = one(&LookUp::Failure);
    for url in &urls {
        assert_eq!(get(&client, url).await, Err(Error::NotPublic), "{url}");
    }
    assert_eq!(client.refusals(), urls.len() as u64);
    assert_eq!(
        count.load(Ordering::SeqCst) + count6.load(Ordering::SeqCst),
        0
    );
}

#[tokio::test]
async fn legacy_spellings_that_a_resolver_accepts_are_rejected_after_resolution() {
    let (server, count) = echo("127.0.0.2:0").await;
    let client = Client::new(ClientOptions::default()).unwrap();
    for host in ["127.2", "2130706434", "0x7f.2", "0177.0.0.2"] {
        let url = format!("http://{host}:{}/", server.port());
        let fault = get(&client, &url).await.unwrap_err();
        assert_eq!(fault, Error::NotPublic, "{host}");
    }
    assert_eq!(
        get(&client, "http://localhost/").await,
        Err(Error::NotPublic)
    );
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_after_the_check_is_rejected() {
    let (inside, count) = echo("127.0.0.2:0").await;
    let (outside, _) = echo(&format!("127.0.0.1:{}", inside.port())).await;
    let url = format!("http://rebinding.example:{}/", outside.port());
    let answers = [LookUp::of(&["127.0.0.1"]), LookUp::of(&["127.0.0.2"])];
    let resolver = ScriptedResolver::new(answers);
    let client = client_for(resolver.clone(), PATIENCE);
    // One lookup per connection: there is no second one between check and use.
    assert!(get(&client, &url).await.is_ok());
    assert_eq!(resolver.lookups.load(Ordering::SeqCst), 1);
    // The gate checks the next connection again.
    assert_eq!(get(&client, &url).await, Err(Error::NotPublic));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn only_permitted_addresses_of_a_mixed_dns_response_are_used() {
    let (inside, count) = echo("127.0.0.2:0").await;
    let (outside, reached) = echo(&format!("127.0.0.1:{}", inside.port())).await;
    let url = format!("http://mixed.example:{}/", outside.port());
    let answers = [
        ["127.0.0.2", "127.0.0.1"],
        ["127.0.0.1", "127.0.0.2"],
        ["::1", "127.0.0.1"],
        ["10.0.0.1", "127.0.0.1"],
        ["fe80::1", "127.0.0.1"],
    ];
    for answer in answers {
        let client = one(&LookUp::of(&answer));
        assert!(get(&client, &url).await.is_ok(), "{answer:?}");
    }
    assert_eq!(reached.load(Ordering::SeqCst), answers.len());
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_failed_permitted_address_does_not_fall_back_to_a_denied_address() {
    let (inside, count) = echo("127.0.0.2:0").await;
    let url = format!("http://mixed.example:{}/", inside.port());
    let client = one(&LookUp::of(&["127.0.0.1", "127.0.0.2"]));
    let refused = Err(Error::Unreachable("connection refused"));
    assert_eq!(get(&client, &url).await, refused);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

/// A listener that accepts no connection and whose backlog is full, so that connecting hangs.
async fn deaf(address: &str) -> (TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(address.parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let target = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    for _ in 0..100 {
        match tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(target)).await {
            Ok(stream) => waiting.push(stream.unwrap()),
            Err(_) => return (listener, waiting),
        }
    }
    panic!("the queue never fills");
}

#[tokio::test]
async fn an_address_that_hangs_does_not_delay_the_next() {
    let (good, count) = echo("127.0.0.1:0").await;
    let (deaf, _waiting) = deaf(&format!("127.0.0.3:{}", good.port())).await;
    let options = ClientOptions {
        allow: vec!["127.0.0.0/8".parse().unwrap()],
        connect_timeout: Duration::from_secs(60),
        ..ClientOptions::default()
    };
    let resolver = ScriptedResolver::new([LookUp::of(&["127.0.0.3", "127.0.0.1"])]);
    let client = Client::with_resolver(options, resolver).unwrap();
    let url = format!("http://two.example:{}/", deaf.local_addr().unwrap().port());
    assert!(get(&client, &url).await.is_ok());
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_address_that_hangs_alone_times_out() {
    let (deaf, _waiting) = deaf("127.0.0.1:0").await;
    let url = format!("http://deaf.example:{}/", deaf.local_addr().unwrap().port());
    let client = client_for(
        ScriptedResolver::always("127.0.0.1"),
        Duration::from_millis(300),
    );
    assert_eq!(get(&client, &url).await, Err(Error::TimedOut));
}

#[tokio::test]
async fn a_handshake_that_hangs_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://deaf.example:{}/",
        listener.local_addr().unwrap().port()
    );
    let client = client_for(
        ScriptedResolver::always("127.0.0.1"),
        Duration::from_millis(300),
    );
    assert_eq!(get(&client, &url).await, Err(Error::TimedOut));
}

#[tokio::test]
async fn only_the_first_records_of_a_large_dns_response_are_used() {
    let (outside, _) = echo("127.0.0.1:0").await;
    let url = format!("http://many.example:{}/", outside.port());
    let answer = |before: usize| {
        let mut records = vec!["10.0.0.1"; before];
        records.push("127.0.0.1");
        LookUp::of(&records)
    };
    assert!(get(&one(&answer(63)), &url).await.is_ok());
    let beyond = get(&one(&answer(10_000)), &url).await;
    assert_eq!(beyond, Err(Error::NotPublic));
}

#[tokio::test]
async fn names_that_do_not_resolve_cause_the_same_error_as_refused_ones() {
    let ask = async |answer: LookUp| {
        let fault = get(&one(&answer), "http://gone.example/")
            .await
            .unwrap_err();
        (fault, fault.to_string())
    };
    let refused = ask(LookUp::of(&["10.0.0.1"])).await;
    for answer in [LookUp::Failure, LookUp::of(&[])] {
        assert_eq!(ask(answer.clone()).await, refused);
        let client = one(&answer);
        assert!(get(&client, "http://gone.example/").await.is_err());
        assert_eq!(client.refusals(), 0, "the gate has refused nothing");
    }
}

#[tokio::test]
async fn a_resolver_that_hangs_runs_into_the_time_out() {
    tokio::time::pause();
    let client = one(&LookUp::Silence);
    for url in ["http://slow.example/", "https://slow.example/"] {
        assert_eq!(get(&client, url).await, Err(Error::TimedOut));
    }
}

/// Sends the same bytes to every connection, after the start of a request.
async fn canned(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    port
}

#[tokio::test]
async fn redirects_are_returned_to_the_caller() {
    let answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2/\r\nContent-Length: 2\r\n\r\nno";
    let port = canned(answer).await;
    let client = client_for(ScriptedResolver::always("127.0.0.1"), PATIENCE);
    let body = get(&client, &format!("http://a.example:{port}/")).await;
    assert_eq!(body.unwrap(), "no");
}

#[tokio::test(start_paused = true)]
async fn a_host_is_rejected_before_connecting_unless_one_of_its_addresses_is_permitted() {
    let url = "https://hook.example/".parse().unwrap();
    for (answer, expected) in [
        (
            LookUp::of(&["10.0.0.1", "127.0.0.2"]),
            Err(Error::NotPublic),
        ),
        (LookUp::of(&["10.0.0.1", "1.1.1.1"]), Ok(())),
        (LookUp::of(&[]), Err(Error::NotPublic)),
        (LookUp::Failure, Err(Error::NotPublic)),
        // Says nothing about the name: other lookups may hold the slots of the resolver.
        (LookUp::Silence, Err(Error::LookupTimedOut)),
    ] {
        assert_eq!(one(&answer).check(&url).await, expected);
    }
}

#[tokio::test]
async fn an_invalid_response_is_broken() {
    for answer in [
        "",
        "SSH-2.0-OpenSSH_9.9\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ] {
        let port = canned(answer).await;
        let client = client_for(ScriptedResolver::always("127.0.0.1"), PATIENCE);
        let fault = get(&client, &format!("http://a.example:{port}/")).await;
        assert_eq!(fault, Err(Error::Broken), "{answer:?}");
    }
}

/// awc gets these wrong.
#[tokio::test]
async fn response_bodies_end_as_their_framing_specifies() {
    let client = client_for(ScriptedResolver::always("127.0.0.1"), PATIENCE);
    for (answer, body) in [
        ("HTTP/1.1 200 OK\r\n\r\nto the end", Ok("to the end")),
        ("HTTP/1.0 200 OK\r\n\r\nto the end", Ok("to the end")),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            Ok("ok"),
        ),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            Ok("ok"),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more",
            Ok("ok"),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf",
            Err(Error::Broken),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            Ok("ok"),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
            Ok("ok"),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
            Err(Error::Broken),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n",
            Err(Error::Broken),
        ),
    ] {
        let port = canned(answer).await;
        let read = get(&client, &format!("http://a.example:{port}/")).await;
        assert_eq!(read.as_deref(), body.as_deref(), "{answer:?}");
    }
}
