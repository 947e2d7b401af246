//! The program, the servers that it fetches from, and a well-behaved account.

use crate::support::http::{Answer, Request};
use crate::support::options::ADMIN_TOKEN;
use crate::support::process::Process;
use crate::support::{Customer, Origin, Wire, fox, origin, sample_images};
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The maximum memory of the process, in bytes.
const MAX_MEMORY: u64 = 1 << 30;

/// Calls of a good account until one is read: a second one, because the whole machine may pause.
const MAX_CALLS: usize = 2;

pub struct World {
    dir: TempDir,
    pub process: Process,
    pub origin: Origin,
}

impl World {
    /// Starts the program with its defaults, except that it may fetch from this machine, and these settings.
    pub fn start(more: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = vec![
            ("ADMIN__TOKEN", ADMIN_TOKEN),
            ("EGRESS__ALLOW", r#"["127.0.0.1/32"]"#),
        ];
        settings.extend(more);
        let process = Process::start(dir.path(), &settings);
        let over = || {
            let mut image = png(5_000, 5_000);
            image.truncate(image.len() - 20);
            image
        };
        let origin = Origin::start([
            ("/small.png", origin::bytes(sample_images::png(64, 64))),
            ("/slow.png", Arc::new(drip)),
            ("/huge.png", origin::bytes(png(8_000, 8_000))),
            ("/wide.png", origin::bytes(png(5_000, 5_000))),
            ("/cut.png", origin::bytes(over())),
            (
                "/lies.png",
                origin::bytes(sample_images::claiming_png(100_000, 100_000)),
            ),
            ("/page.png", origin::bytes(b"<html>".to_vec())),
        ]);
        Self {
            dir,
            process,
            origin,
        }
    }

    /// Creates an account with a key.
    pub fn customer(&self, balance: &str) -> Customer {
        let body = json!({"name": "an account", "balance": balance});
        let account = self.admin("/accounts", &body);
        let account = account["account_id"].as_str().unwrap().to_owned();
        let key = self.admin(
            &format!("/accounts/{account}/keys"),
            &json!({"name": "a key"}),
        );
        let text = |name: &str| key[name].as_str().unwrap().to_owned();
        Customer {
            account,
            key_id: text("key_id"),
            key: text("api_key"),
        }
    }

    pub fn admin(&self, path: &str, body: &Value) -> Value {
        let call = self.process.call("POST", &format!("/admin/v1{path}"));
        let answer = exchange(&call.bearer(ADMIN_TOKEN).json(body));
        assert!(answer.status < 300, "{path}: {}", answer.text());
        answer.json()
    }

    /// Stops the program and asserts the invariants: little memory, no panic, an exact ledger.
    pub fn end(self) {
        let peak = self.process.peak_memory();
        println!("peak memory: {} MiB", peak >> 20);
        let stopped = self.process.terminate();
        assert_eq!(stopped.status, Some(0), "{}", stopped.log);
        assert!(!stopped.log.contains("panicked"), "{}", stopped.log);
        assert!(peak < MAX_MEMORY, "{} MiB", peak >> 20);
        let verified = Process::command(self.dir.path(), &[])
            .arg("verify")
            .output();
        let verified = verified.unwrap();
        let output = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(verified.status.success(), "{output}");
    }
}

/// An image of 16 bits per channel that is small until it is decoded.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Sixteen);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().unwrap();
    let mut rows = writer.stream_writer().unwrap();
    let row = vec![0; width as usize * 8];
    for _ in 0..height {
        rows.write_all(&row).unwrap();
    }
    rows.finish().unwrap();
    writer.finish().unwrap();
    bytes
}

/// Sends 2 MB of a much longer body, then a byte now and then.
fn drip(stream: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 13000000\r\nConnection: close\r\n\r\n";
    let mut image = sample_images::png(64, 64);
    image.truncate(40);
    image.resize(2 << 20, 0);
    let mut sent = stream.write_all(head.as_bytes());
    sent = sent.and_then(|()| stream.write_all(&image));
    while sent.is_ok() {
        thread::sleep(Duration::from_millis(200));
        sent = stream.write_all(b"\0");
    }
}

/// Sends a request on a new connection and reads the answer.
pub fn exchange(request: &Request) -> Answer {
    let mut wire = Wire::open(request.to());
    wire.send(&request.clone().header("Connection", "close").wire());
    let answer = wire.answer_to(request.method());
    answer.unwrap_or_else(|| panic!("no answer to {} {}", request.method(), request.target()))
}

/// Repeats a call that the machine was too slow to read within the time limit of a head, as clients do. A service that reads no call
/// ends no job.
fn exchange_in_time(request: &Request) -> Answer {
    let mut answers = (0..MAX_CALLS).map(|_| exchange(request));
    let read = answers.find(|it| it.status != 408);
    read.unwrap_or_else(|| panic!("{} is never read", request.target()))
}

fn fault(answer: &Answer) -> String {
    format!("{}: {}", answer.status, answer.text())
}

/// The observations of a well-behaved account.
#[derive(Default)]
pub struct Observations {
    pub created: Vec<Duration>,
    pub faults: Vec<String>,
}

/// Creates jobs until `over`, and counts in `made` those that produce an image.
pub fn create_jobs(
    process: &Process,
    customer: &Customer,
    made: &AtomicUsize,
    over: &AtomicBool,
) -> Observations {
    let mut seen = Observations::default();
    let call = |method: &str, target: &str| process.call(method, target).bearer(&customer.key);
    while !over.load(Ordering::Relaxed) {
        let create = call("POST", "/api/v1/nb/text-generations").json(&fox());
        let began = Instant::now();
        let created = exchange_in_time(&create);
        seen.created.push(began.elapsed());
        if created.status != 202 {
            seen.faults.push(fault(&created));
            continue;
        }
        let look = call("GET", &format!("/api/v1/jobs/{}?wait=10", created.job_id()));
        // However slow the machine is, the job ends. A wait is shorter than the patience of the connection.
        let ended = (0..60).map(|_| exchange_in_time(&look)).find(|it| {
            it.status != 200 || !["queued", "processing"].contains(&status_of(it).as_str())
        });
        match ended {
            Some(job) if job.status == 200 && status_of(&job) == "done" => {
                made.fetch_add(1, Ordering::Relaxed);
            }
            Some(job) => seen.faults.push(fault(&job)),
            None => seen.faults.push("the job does not end".into()),
        }
        // A client that polls at a moderate rate.
        thread::sleep(Duration::from_millis(20));
    }
    seen
}

fn status_of(answer: &Answer) -> String {
    answer.json()["status"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

impl Observations {
    /// Prints the latencies and asserts that every call succeeded.
    pub fn assert_all_succeeded(mut self, who: &str) {
        self.created.sort();
        let count = self.created.len();
        let at = |percent: usize| self.created.get(count * percent / 100).copied();
        println!(
            "{who}: {count} creations, p50 {:?}, p99 {:?}",
            at(50).unwrap_or_default(),
            at(99).unwrap_or_default()
        );
        assert_eq!(self.faults, [""; 0], "{who}");
        assert!(count > 0, "{who} has created nothing");
    }
}

impl Process {
    /// The peak memory of the process, in bytes.
    fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() << 10
    }
}
