//! Starts a server whose tiers use stubs, with a customer.

use crate::stub::{Reply, Stub};
use crate::support::sample_images::png;
use crate::support::{Customer, Options, Server, fox_with};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{Rgb, RgbImage};
use serde_json::{Value, json};
use tintype_egress::testing::server::ReceivedRequest;
use toml::Value as Toml;

/// The API key of every backend.
pub const KEY: &str = "key-of-the-backend-0123456789";
/// What one job on `pro` at 1K leaves of 10.00.
pub const LEFT: &str = "9.866";

/// Configures a backend of this kind at a stub, without retries.
pub fn backend(options: Options, name: &str, kind: &str, stub: &Stub) -> Options {
    let path = if kind == "openai" { "/v1" } else { "" };
    let key = |key: &str| format!("backends.{name}.{key}");
    options
        .set(&key("kind"), kind)
        .set(&key("base_url"), stub.url(path))
        .set(&key("api_key"), KEY)
        .set(&key("retries"), 0)
}

/// Makes the tier `pro` use these backends, in order.
pub fn pro(options: Options, names: &[&str]) -> Options {
    let entry = |name: &&str| {
        Toml::Table(
            [("name".to_owned(), Toml::from(*name))]
                .into_iter()
                .collect(),
        )
    };
    let list: Vec<Toml> = names.iter().map(entry).collect();
    options.set("tiers.pro.backends", list)
}

/// Starts a server whose tier `pro` uses this kind of backend at this stub, with a customer that has 10.00. `change` adjusts the
/// options.
pub fn start(
    kind: &str,
    stub: &Stub,
    change: impl FnOnce(Options) -> Options,
) -> (Server, Customer) {
    let options = backend(Options::new(), "far", kind, stub);
    let server = Server::with(change(pro(options, &["far"])));
    let customer = server.customer("10.00");
    (server, customer)
}

/// Runs a job on `pro` to its end.
pub fn make(server: &Server, customer: &Customer, extra: Value) -> Value {
    let answer = server.generation(customer, "/text-generations", &fox_with(extra));
    ended(server, customer, &answer.expect(202).job_id())
}

/// Waits for the end of a job.
pub fn ended(server: &Server, customer: &Customer, id: &str) -> Value {
    crate::support::poll::until_some("the job has ended", || {
        let job = server.job(customer, id);
        let has_ended = ["done", "failed"].contains(&job["status"].as_str().unwrap());
        has_ended.then_some(job)
    })
}

/// The stored image of a done job.
pub fn image(server: &Server, job: &Value) -> Vec<u8> {
    assert_eq!(job["status"], "done", "{job}");
    let id = job["job_id"].as_str().unwrap();
    let objects = server.objects_left();
    let found: Vec<_> = objects.iter().filter(|it| it.contains(id)).collect();
    let [path] = found[..] else {
        panic!("{objects:?}");
    };
    std::fs::read(server.objects().join(path)).unwrap()
}

pub fn size(bytes: &[u8]) -> (u32, u32) {
    let image = image::load_from_memory(bytes).unwrap();
    (image.width(), image.height())
}

/// The error of a failed job. Checks that the job cost nothing and that the error reveals nothing of the configuration.
pub fn failure(server: &Server, customer: &Customer, stub: &Stub, job: &Value) -> String {
    assert_eq!(job["status"], "failed", "{job}");
    server.assert_money(customer, "10.00", "0.00", "10.00");
    let error = job["error"].as_str().unwrap().to_owned();
    for secret in [KEY, "127.0.0.1", &stub.address.port().to_string()] {
        assert!(!error.contains(secret), "{error}");
    }
    assert!(
        error.bytes().all(|it| (b' '..=b'~').contains(&it)),
        "{error}"
    );
    error
}

/// What the operator reads about the failure of a job.
pub fn causes(server: &Server, job: &Value) -> Vec<String> {
    let path = format!("/jobs/{}", job["job_id"].as_str().unwrap());
    let record = server.admin("GET", &path).expect(200).json();
    let causes = record["causes"].as_array().cloned().unwrap_or_default();
    let text = |it: &Value| it["message"].as_str().unwrap().to_owned();
    causes.iter().map(text).collect()
}

/// A square PNG of noise, three bytes per pixel.
pub fn noise(side: u32) -> Vec<u8> {
    let noise = RgbImage::from_fn(side, side, |x, y| {
        let mixed = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761);
        Rgb([mixed as u8, (mixed >> 9) as u8, (mixed >> 18) as u8])
    });
    let mut bytes = Vec::new();
    let (plain, unfiltered) = (CompressionType::Uncompressed, FilterType::NoFilter);
    let encoder = PngEncoder::new_with_quality(&mut bytes, plain, unfiltered);
    noise.write_with_encoder(encoder).unwrap();
    bytes
}

pub fn gemini_image(bytes: &[u8]) -> Reply {
    let data = BASE64_STANDARD.encode(bytes);
    Reply::json(
        &json!({"candidates": [{"content": {"role": "model", "parts": [
        {"inlineData": {"mimeType": "image/png", "data": data}}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"totalTokenCount": 1297}, "modelVersion": "gemini-3-pro-image"}),
    )
}

pub fn openai_image(bytes: &[u8]) -> Reply {
    let data = BASE64_STANDARD.encode(bytes);
    Reply::json(
        &json!({"created": 1, "data": [{"b64_json": data, "url": null, "revised_prompt": null}]}),
    )
}

/// A successful answer of the Gemini or OpenAI API.
pub fn image_of(kind: &str) -> Reply {
    let square = png(64, 64);
    match kind {
        "gemini" => gemini_image(&square),
        _ => openai_image(&square),
    }
}

pub struct Field {
    pub name: String,
    pub file_name: Option<String>,
    pub media_type: Option<String>,
    pub content: Vec<u8>,
}

/// Parses a multipart form.
pub fn form(seen: &ReceivedRequest) -> Vec<Field> {
    let kind = seen.header("content-type").unwrap();
    let boundary = kind.split_once("boundary=").expect("a form").1;
    let marker = format!("--{boundary}");
    let mut parts = split(&seen.body, marker.as_bytes());
    parts.remove(0);
    assert_eq!(parts.pop().as_deref(), Some(&b"--\r\n"[..]));
    parts.iter().map(|part| field(part)).collect()
}

fn field(part: &[u8]) -> Field {
    let end = part.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(part[..end].to_vec()).unwrap();
    let attribute = |name: &str| {
        let after = head.split_once(&format!("{name}=\""))?.1;
        Some(after.split('"').next()?.to_owned())
    };
    let media_type = head.lines().find_map(|line| {
        Some(
            line.to_ascii_lowercase()
                .strip_prefix("content-type: ")?
                .to_owned(),
        )
    });
    Field {
        name: attribute("; name").unwrap(),
        file_name: attribute("filename"),
        media_type,
        content: part[end + 4..part.len() - 2].to_vec(),
    }
}

fn split(body: &[u8], marker: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    let mut at = 0;
    while at < body.len() {
        if body[at..].starts_with(marker) {
            parts.push(Vec::new());
            at += marker.len();
        } else {
            parts.last_mut().unwrap().push(body[at]);
            at += 1;
        }
    }
    parts
}
