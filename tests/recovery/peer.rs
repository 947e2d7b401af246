//! One small server for everything outside of the service: a backend that answers immediately, a recording webhook receiver, and a host
//! of an input image. It survives every kill.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tintype_egress::testing::server::{self, ReceivedRequest, Reply, ScriptedServer};

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
        let mut png = Cursor::new(Vec::new());
        image::RgbImage::new(16, 16)
            .write_to(&mut png, image::ImageFormat::Png)
            .expect("an image");
        let state = Arc::new(State {
            image: png.into_inner(),
            generation_requests: AtomicUsize::new(0),
            delivered: Mutex::default(),
            refused: Mutex::default(),
        });
        let serving = Arc::clone(&state);
        let server = ScriptedServer::start(move |request| respond(request, &serving));
        let address = server.address().to_string();
        server.detach();
        Self { address, state }
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

fn respond(request: &ReceivedRequest, state: &State) -> Reply {
    match request.path() {
        "/hook" => server::json(hook(state, &request.json()), &Value::Null),
        "/input.png" => Reply::Full(200, "image/png", state.image.clone()),
        _ => {
            state.generation_requests.fetch_add(1, Ordering::SeqCst);
            let image = BASE64_STANDARD.encode(&state.image);
            server::json(200, &json!({"created": 1, "data": [{"b64_json": image}]}))
        }
    }
}

/// Accepts deliveries, but refuses the first attempt for every fifth job.
fn hook(state: &State, body: &Value) -> u16 {
    let job = body["job_id"].as_str().unwrap_or_default().to_owned();
    let mut refused = state.refused.lock().expect("refused");
    let of_job = refused.entry(job.clone()).or_default();
    *of_job += 1;
    if *of_job == 1 && job.ends_with(['0', '5', 'a']) {
        return 503;
    }
    *state
        .delivered
        .lock()
        .expect("delivered")
        .entry(job)
        .or_default() += 1;
    200
}
