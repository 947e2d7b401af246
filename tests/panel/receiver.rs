//! Servers for the service to call: one with a fixed answer, one that never answers, and one that serves a file.

use base64::Engine as _;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// A one-pixel PNG.
pub const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Starts a server with a fixed answer and returns its URL. It runs until the process ends.
pub fn answering(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut seen = Vec::new();
            let mut piece = [0; 4_096];
            // Bodies of deliveries are short JSON objects that end with the closing brace.
            while !seen.ends_with(b"}") {
                match stream.read(&mut piece) {
                    Ok(read @ 1..) => seen.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            // The caller may have disconnected.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

/// Starts a server that accepts every call and answers none; returns its URL. It runs until the process ends.
pub fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let taken: Vec<_> = listener.incoming().flatten().collect();
        drop(taken);
    });
    url
}

/// Starts a server that serves the same file on every path; returns its URL. It runs until the process ends.
pub fn serving(kind: &'static str, file: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/file", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut seen = Vec::new();
            let mut piece = [0; 4_096];
            while !seen.windows(4).any(|it| it == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(read @ 1..) => seen.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                file.len()
            );
            // The caller may have disconnected.
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(file);
        }
    });
    url
}

/// Starts a server with AUTOMATIC1111's interface that has rendered half of each image and finishes none; returns its URL. It
/// runs until the process ends.
fn half_drawn() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let preview = base64::engine::general_purpose::STANDARD.encode(PIXEL);
    let told = json!({
        "active": true, "queued": false, "completed": false, "progress": 0.5, "eta": 1.0,
        "live_preview": format!("data:image/png;base64,{preview}"), "id_live_preview": 1,
    });
    std::thread::spawn(move || {
        let mut unfinished = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let (mut seen, mut piece) = (Vec::new(), [0; 4_096]);
            // Every body is a JSON object.
            while !seen.ends_with(b"}") {
                match stream.read(&mut piece) {
                    Ok(read @ 1..) => seen.extend_from_slice(&piece[..read]),
                    _ => break,
                }
                if seen.starts_with(b"GET") && seen.ends_with(b"\r\n\r\n") {
                    break;
                }
            }
            let answer = match seen {
                it if it.starts_with(b"POST /sdapi/v1/txt2img") => {
                    unfinished.push(stream);
                    continue;
                }
                it if it.starts_with(b"POST /internal/progress") => ("200 OK", told.to_string()),
                _ => ("404 Not Found", "{}".to_owned()),
            };
            let (status, body) = answer;
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            // The caller may have disconnected.
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    url
}

/// Settings that send the fast model to a backend that never gets past half of an image.
pub fn half_drawing_back_end() -> [(&'static str, String); 3] {
    [
        ("TINTYPE__BACKENDS__WEBUI__KIND", "sdapi".into()),
        ("TINTYPE__BACKENDS__WEBUI__BASE_URL", half_drawn()),
        (
            "TINTYPE__TIERS__FAST__BACKENDS",
            "[{ name = \"webui\" }]".into(),
        ),
    ]
}

/// Settings that give the fast model one slot, over all nodes, at a backend that never answers.
pub fn slow_back_end() -> [(&'static str, String); 5] {
    [
        ("TINTYPE__BACKENDS__SLOW__KIND", "openai".into()),
        (
            "TINTYPE__BACKENDS__SLOW__BASE_URL",
            format!("{}/v1", silent()),
        ),
        ("TINTYPE__BACKENDS__SLOW__CONCURRENCY", "1".into()),
        ("TINTYPE__BACKENDS__SLOW__SHARED", "true".into()),
        (
            "TINTYPE__TIERS__FAST__BACKENDS",
            "[{ name = \"slow\" }]".into(),
        ),
    ]
}
