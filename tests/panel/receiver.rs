//! Servers for the service to call: one with a fixed answer, one that never answers, and one that serves a file.

use base64::Engine as _;
use serde_json::json;
use tintype_egress::testing::server::{self, ReceivedRequest, Reply, ScriptedServer, response};

/// A one-pixel PNG.
pub const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Starts a server that runs until the process ends; returns its URL.
fn start(
    path: &str,
    respond: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
) -> String {
    let server = ScriptedServer::start(respond);
    let url = server.url(path);
    server.detach();
    url
}

/// Starts a server with a fixed answer and returns its URL.
pub fn answering(status: &'static str, body: &'static str) -> String {
    start("/hook", move |_| {
        Reply::Raw(response(status, "", body.as_bytes()))
    })
}

/// Starts a server that accepts every call and answers none; returns its URL.
pub fn silent() -> String {
    start("", |_| Reply::Silence)
}

/// Starts a server that serves the same file on every path; returns its URL.
pub fn serving(kind: &'static str, file: &'static [u8]) -> String {
    start("/file", move |_| Reply::Full(200, kind, file.to_vec()))
}

/// Starts a server with AUTOMATIC1111's interface that has rendered half of each image and finishes none; returns its URL.
fn half_drawn() -> String {
    let preview = base64::engine::general_purpose::STANDARD.encode(PIXEL);
    let progress = json!({
        "active": true, "queued": false, "completed": false, "progress": 0.5, "eta": 1.0,
        "live_preview": format!("data:image/png;base64,{preview}"), "id_live_preview": 1,
    });
    start("", move |request| match request.line().as_str() {
        "POST /sdapi/v1/txt2img" => Reply::Silence,
        "POST /internal/progress" => server::json(200, &progress),
        _ => server::json(404, &json!({})),
    })
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
