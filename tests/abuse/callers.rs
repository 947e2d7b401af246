//! Hostile calls in the groups of `tests/hostile.md`, and the answers that are right.

use crate::support::http::Request;
use crate::support::{Customer, fox, fox_with};
use crate::world::World;
use base64::Engine as _;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Of calls that Tintype answers at once. A call without an answer is a fault, however slow the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of calls that wait for something else.
const BRIEF: Duration = Duration::from_secs(1);

/// The address of the service, and the keys for the calls.
pub struct Target<'a> {
    world: &'a World,
    key: &'a Customer,
    /// A key of an account without money.
    poor: &'a Customer,
}

/// The status of the answer; `None` if no answer arrived in time.
pub type Status = Option<u16>;

/// Hostile calls of one kind.
pub struct Group {
    /// The numbers in `tests/hostile.md`, and the subject.
    pub name: &'static str,
    pub call: fn(&Target<'_>) -> Vec<Status>,
    /// The statuses that show that the calls reach what they attack. A run sees each at least once.
    pub wanted: &'static [Status],
    /// Other right statuses.
    pub right: &'static [Status],
}

pub const GROUPS: &[Group] = &[
    Group {
        name: "1-16 broken HTTP",
        call: broken_http,
        wanted: &[Some(200), Some(400), Some(404), Some(405), Some(431)],
        right: &[],
    },
    Group {
        name: "11 half-open connections",
        call: half_open,
        wanted: &[None],
        right: &[],
    },
    Group {
        name: "19-23, 28 broken JSON",
        call: broken_json,
        wanted: &[Some(422)],
        right: &[],
    },
    Group {
        name: "24-27 strange fields",
        call: strange_fields,
        wanted: &[Some(422)],
        right: &[],
    },
    Group {
        name: "30-36 credentials",
        call: credentials,
        wanted: &[Some(401), Some(404)],
        // Guesses of a password wait for their turn.
        right: &[None, Some(429)],
    },
    Group {
        name: "37 no money",
        call: no_money,
        wanted: &[Some(402)],
        right: &[],
    },
    Group {
        name: "48-51 idempotency keys",
        call: idempotency,
        wanted: &[Some(202), Some(422)],
        right: &[],
    },
    Group {
        name: "57-63 internal addresses",
        call: internal_addresses,
        wanted: &[Some(422)],
        // A name may take longer to resolve than the caller waits.
        right: &[None],
    },
    Group {
        name: "68-71 hostile images",
        call: hostile_images,
        wanted: &[Some(200), Some(202), Some(422), None],
        // The memory for images is full, or an origin is too slow.
        right: &[Some(502), Some(503)],
    },
    Group {
        name: "72 callers who leave",
        call: disconnecting,
        wanted: &[None],
        right: &[Some(503)],
    },
    Group {
        name: "98 a receiver that stalls",
        call: stalling_receiver,
        wanted: &[Some(202)],
        right: &[],
    },
    Group {
        name: "116 polling",
        call: polling,
        wanted: &[Some(200)],
        right: &[],
    },
    Group {
        name: "118 large bodies",
        call: large_bodies,
        wanted: &[Some(400), Some(413)],
        right: &[],
    },
];

impl<'a> Target<'a> {
    pub fn new(world: &'a World, key: &'a Customer, poor: Option<&'a Customer>) -> Self {
        Self {
            world,
            key,
            poor: poor.unwrap_or(key),
        }
    }

    fn call(&self, method: &str, target: &str) -> Request {
        self.world.process.call(method, target)
    }

    fn generation(&self, path: &str, body: &Value) -> Request {
        let call = self.call("POST", &format!("/api/v1{path}"));
        call.bearer(&self.key.key).json(body)
    }

    /// A call with this many input images.
    pub fn of_images(&self, path: &str, count: usize, dry_run: bool) -> Request {
        let urls = (0..count).map(|at| self.world.origin.url(&format!("{path}?{at}")));
        let body = fox_with(json!({"input_images_urls": urls.collect::<Vec<_>>()}));
        let dry_run = if dry_run { "?dry_run=true" } else { "" };
        self.generation(&format!("/url-generations{dry_run}"), &body)
    }

    fn all(&self, calls: impl IntoIterator<Item = Request>) -> Vec<Status> {
        calls.into_iter().map(|it| send(&it, PATIENCE)).collect()
    }

    fn all_briefly(&self, calls: impl IntoIterator<Item = Request>) -> Vec<Status> {
        calls.into_iter().map(|it| send(&it, BRIEF)).collect()
    }

    fn bytes(&self, bytes: &[u8]) -> Status {
        exchange(self.world.process.address, bytes, PATIENCE)
    }
}

/// Sends a call and reads only the status.
pub fn send(request: &Request, patience: Duration) -> Status {
    let request = request.clone().header("Connection", "close");
    exchange(request.to(), &request.wire(), patience)
}

fn exchange(to: SocketAddr, bytes: &[u8], patience: Duration) -> Status {
    let mut stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    stream.set_write_timeout(Some(patience)).ok()?;
    // An early rejection closes the connection before the write ends; the answer is still readable.
    let _ = stream.write_all(bytes);
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(&head[9..]).ok()?.parse().ok()
}

fn broken_http(target: &Target<'_>) -> Vec<Status> {
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200));
    let texts = [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n",
        "GET /%2e%2e/%00/%ff//. HTTP/1.1\r\nHost: a\r\n\r\n",
        "TRACE * HTTP/9.9\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03",
        &long,
        &many,
    ];
    let mut statuses: Vec<Status> = texts.iter().map(|it| target.bytes(it.as_bytes())).collect();
    statuses.push(
        target.bytes(
            "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nbad\r\n"
                .repeat(32)
                .as_bytes(),
        ),
    );
    statuses
}

fn half_open(target: &Target<'_>) -> Vec<Status> {
    let connect = |_| TcpStream::connect(target.world.process.address).ok();
    let mut streams: Vec<TcpStream> = (0..50).filter_map(connect).collect();
    for stream in &mut streams {
        let _ = stream.write_all(b"POST /api/v1/text-generations HTTP/1.1\r\nHost: a\r\nCont");
    }
    vec![None; streams.len()]
}

fn broken_json(target: &Target<'_>) -> Vec<Status> {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let wide = format!(
        "{{\"metadata\":{}{}}}",
        "{\"a\":".repeat(64),
        "1".repeat(900_000)
    );
    let texts = [
        nested(128),
        nested(100_000),
        "{\"a\":".repeat(100_000),
        format!("{{\"prompt\":\"a\",\"metadata\":{{\"a\":{}}}}}", nested(64)),
        "{\"prompt\":\"a\",\"prompt\":\"b\"}".into(),
        "{\"prompt\":1e400,\"aspect_ratio\":-0}".into(),
        format!("{{\"prompt\":{}}}", "9".repeat(100_000)),
        "{\"prompt\":\"\\ud800\"}".into(),
        "null".into(),
        String::new(),
        "{\"a\":1}{\"b\":2}".into(),
        wide,
    ];
    let calls = texts.map(|text| {
        let call = target.call("POST", "/api/v1/text-generations");
        call.bearer(&target.key.key).text(&text)
    });
    target.all(calls)
}

fn strange_fields(target: &Target<'_>) -> Vec<Status> {
    let names: serde_json::Map<String, Value> = (0..10_000)
        .map(|at| (format!("k{at}"), at.into()))
        .collect();
    let urls: Vec<String> = (0..5_000)
        .map(|at| format!("https://example.com/{at}"))
        .collect();
    let bodies = [
        json!({"prompt": ""}),
        json!({"prompt": "\0\0"}),
        json!({"prompt": "\u{301}".repeat(400_000)}),
        json!({"prompt": {"a": []}, "aspect_ratio": 7, "resolution": null}),
        fox_with(json!({"metadata": names})),
        fox_with(json!({"metadata": {"a": "x".repeat(900_000)}})),
        fox_with(json!({"__proto__": 1})),
        fox_with(json!({"input_images_urls": urls})),
        fox_with(json!({"callback_url": "x".repeat(100_000)})),
    ];
    target.all(bodies.map(|body| target.generation("/url-generations", &body)))
}

fn credentials(target: &Target<'_>) -> Vec<Status> {
    let guess = format!("{:032x}", rand::random::<u128>());
    let admin = target.call("GET", "/admin/v1/accounts").bearer(&guess);
    let forged = format!("{}.0.2.1", rand::random::<u8>());
    let sign_in = target
        .call("POST", "/panel/api/session")
        .header("X-Tintype-Panel", "1")
        .json(&json!({"email": "ada@example.com", "password": guess}));
    let balance = || target.call("GET", "/api/v1/balance");
    let job = target.call("GET", "/api/v1/jobs/00000000-0000-0000-0000-000000000000");
    target.all_briefly([
        admin.clone().header("X-Forwarded-For", &forged),
        sign_in,
        balance(),
        balance().bearer(&format!("tt_{guess}")),
        balance().bearer(&"t".repeat(8_000)),
        balance().header("Authorization", "Basic abc"),
        target
            .call("GET", "/metrics")
            .header("Forwarded", "for=a")
            .bearer(&guess),
        job.bearer(&target.key.key),
    ])
}

fn no_money(target: &Target<'_>) -> Vec<Status> {
    let call = target.call("POST", "/api/v1/text-generations");
    let call = call.bearer(&target.poor.key).json(&fox());
    target.all(vec![call; 20])
}

fn idempotency(target: &Target<'_>) -> Vec<Status> {
    let create = |prompt: &str, key: &str| {
        let body = fox_with(json!({"prompt": prompt}));
        target
            .generation("/nb/text-generations", &body)
            .idempotent(key)
    };
    let long = "k".repeat(60_000);
    let calls = [
        create("one", "the-same"),
        create("two", "the-same"),
        create("one", &long),
    ];
    target.all(calls.into_iter().chain(vec![create("one", "the-same"); 10]))
}

fn internal_addresses(target: &Target<'_>) -> Vec<Status> {
    let hosts = [
        "169.254.169.254",
        "10.0.0.1",
        "[::1]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "2130706433",
        "0x7f.1",
        "localhost:22",
        "user:pw@192.168.0.1",
        "metadata.google.internal",
        "no-such-name.invalid",
    ];
    let calls = hosts.map(|host| {
        let body = fox_with(json!({"input_images_urls": [format!("http://{host}/a.png")]}));
        target.generation("/url-generations?dry_run=true", &body)
    });
    target.all_briefly(calls)
}

fn hostile_images(target: &Target<'_>) -> Vec<Status> {
    let paths = [
        "/huge.png",
        "/cut.png",
        "/lies.png",
        "/page.png",
        "/none.png",
    ];
    let rejected = paths.map(|path| target.of_images(path, 3, rand::random()));
    let accepted = [true, false].map(|dry_run| target.of_images("/wide.png", 1, dry_run));
    let mut statuses = target.all(rejected.into_iter().chain(accepted));
    statuses.extend(target.all_briefly([target.of_images("/slow.png", 3, rand::random())]));
    statuses
}

fn disconnecting(target: &Target<'_>) -> Vec<Status> {
    let call = target.of_images("/slow.png", 14, true);
    (0..10)
        .map(|_| send(&call, Duration::from_millis(20)))
        .collect()
}

fn stalling_receiver(target: &Target<'_>) -> Vec<Status> {
    target.all(vec![target.generation("/nb/text-generations", &fox()); 3])
}

fn polling(target: &Target<'_>) -> Vec<Status> {
    let calls = [
        "/api/v1/jobs?limit=100",
        "/api/v1/balance",
        "/api/v1/transactions",
    ];
    let calls = calls.map(|path| target.call("GET", path).bearer(&target.key.key));
    target.all(calls.into_iter().cycle().take(60))
}

fn large_bodies(target: &Target<'_>) -> Vec<Status> {
    let data = base64::engine::general_purpose::STANDARD.encode(vec![0; 8 << 20]);
    let part = json!({"inlineData": {"mimeType": "image/png", "data": data}});
    let body = json!({"contents": [{"parts": [{"text": "a fox"}, part]}]});
    let path = "/v1beta/models/gemini-3-pro-image-preview:generateContent";
    let compat = target
        .call("POST", path)
        .header("x-goog-api-key", &target.key.key);
    let native = target
        .call("POST", "/api/v1/text-generations")
        .bearer(&target.key.key);
    target.all([compat.json(&body), native.json(&body)])
}
