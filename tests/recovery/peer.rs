//! One small server for everything outside of the service: a backend that answers immediately, a recording webhook receiver, and a host
//! of an input image. It survives every kill.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Cursor, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const MAX_HEADERS: usize = 100;

/// Clones share the state.
#[derive(Clone)]
pub struct Peer {
    pub address: String,
    state: Arc<State>,
}

struct State {
    image: Vec<u8>,
    generation_requests: AtomicUsize,
    /// How often each job's delivery was accepted.
    delivered: Mutex<BTreeMap<String, usize>>,
    refused: Mutex<BTreeMap<String, usize>>,
}

impl Peer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut png = Cursor::new(Vec::new());
        image::RgbImage::new(16, 16)
            .write_to(&mut png, image::ImageFormat::Png)
            .expect("an image");
        let peer = Self {
            address: listener.local_addr().expect("an address").to_string(),
            state: Arc::new(State {
                image: png.into_inner(),
                generation_requests: AtomicUsize::new(0),
                delivered: Mutex::default(),
                refused: Mutex::default(),
            }),
        };
        let state = Arc::clone(&peer.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                // A killed process closes its connections.
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        peer
    }

    pub fn input(&self) -> String {
        format!("http://{}/input.png", self.address)
    }

    /// The number of generation requests.
    pub fn generation_requests(&self) -> usize {
        self.state.generation_requests.load(Ordering::SeqCst)
    }

    /// The number of jobs with an accepted delivery.
    pub fn delivered_jobs(&self) -> usize {
        self.state.delivered.lock().expect("delivered").len()
    }

    /// Jobs with an accepted delivery, and how often.
    pub fn delivered(&self) -> BTreeMap<String, usize> {
        self.state.delivered.lock().expect("delivered").clone()
    }
}

fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    let mut writing = stream.try_clone()?;
    let mut reading = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reading.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        for _ in 0..MAX_HEADERS {
            let mut line = String::new();
            reading.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reading.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let (status, answer) = match first.split(' ').nth(1) {
            Some("/hook") => (hook(state, &body), b"null".to_vec()),
            Some("/input.png") => ("200 OK", state.image.clone()),
            _ => {
                state.generation_requests.fetch_add(1, Ordering::SeqCst);
                let image = BASE64_STANDARD.encode(&state.image);
                let answer = json!({"created": 1, "data": [{"b64_json": image}]});
                ("200 OK", answer.to_string().into_bytes())
            }
        };
        let length = answer.len();
        write!(
            writing,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )?;
        writing.write_all(&answer)?;
    }
}

/// Accepts deliveries, but refuses the first attempt for every fifth job.
fn hook(state: &State, body: &Value) -> &'static str {
    let job = body["job_id"].as_str().unwrap_or_default().to_owned();
    let mut refused = state.refused.lock().expect("refused");
    let of_job = refused.entry(job.clone()).or_default();
    *of_job += 1;
    if *of_job == 1 && job.ends_with(['0', '5', 'a']) {
        return "503 Service Unavailable";
    }
    *state
        .delivered
        .lock()
        .expect("delivered")
        .entry(job)
        .or_default() += 1;
    "200 OK"
}
