//! A server that speaks `/sdapi/v1` like AUTOMATIC1111, SD.Next or stable-diffusion.cpp.

use crate::fixture::image;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tintype_egress::testing::server::{ReceivedRequest, Reply, ScriptedServer, json, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// The progress calls that the server supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A1111 from 1.8 and Forge: by task and server-wide.
    Automatic,
    /// A1111 and Forge without their web page: only server-wide.
    Headless,
    /// SD.Next and older servers: server-wide. By task they know only the tasks of their web page.
    Next,
    /// stable-diffusion.cpp: none.
    Cpp,
}

/// Replaces an answer; `None` for the usual one.
pub type Instead = dyn Fn(&ReceivedRequest) -> Option<Reply> + Send + Sync;

struct State {
    calls: Vec<ReceivedRequest>,
    held: bool,
    interrupted: bool,
    /// When the last job began. A counter stands in for the time.
    job_timestamp: u64,
    /// Does another call wait? Then it begins when a generation ends, before the response. True: it is interrupted at once.
    next: Option<bool>,
    active: Option<String>,
    fraction: f64,
}

struct Shared {
    kind: Kind,
    state: Mutex<State>,
    changed: Condvar,
    instead: Box<Instead>,
}

pub struct Stub {
    server: ScriptedServer,
    shared: Arc<Shared>,
}

impl Stub {
    pub fn start(kind: Kind) -> Self {
        Self::with(kind, |_| None)
    }

    /// `other` may replace the answer to a call.
    pub fn with(
        kind: Kind,
        instead: impl Fn(&ReceivedRequest) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            kind,
            state: Mutex::new(State {
                calls: Vec::new(),
                held: false,
                interrupted: false,
                job_timestamp: 20_261_127_120_000,
                next: None,
                active: None,
                fraction: 0.0,
            }),
            changed: Condvar::new(),
            instead: Box::new(instead),
        });
        let serving = Arc::clone(&shared);
        Self {
            server: ScriptedServer::start(move |call| serving.answer(call)),
            shared,
        }
    }

    pub fn url(&self) -> String {
        self.server.url("")
    }

    /// Holds every generation from now on, at this progress.
    pub fn hold(&self, fraction: f64) {
        let mut state = self.shared.state.lock();
        state.held = true;
        state.fraction = fraction;
    }

    pub fn release(&self) {
        self.shared.state.lock().held = false;
        self.shared.changed.notify_all();
    }

    /// Reports the last image as interrupted, until the next one begins.
    pub fn interrupt(&self) {
        self.shared.state.lock().interrupted = true;
    }

    /// Lets a call of another client wait. It begins when a generation ends, and is then interrupted if `interrupted`.
    pub fn queue_call(&self, interrupted: bool) {
        self.shared.state.lock().next = Some(interrupted);
    }

    /// The lines of all calls, in order.
    pub fn lines(&self) -> Vec<String> {
        let state = self.shared.state.lock();
        state.calls.iter().map(ReceivedRequest::line).collect()
    }

    /// The calls with this line, such as `POST /sdapi/v1/txt2img`.
    pub fn calls(&self, line: &str) -> Vec<ReceivedRequest> {
        let state = self.shared.state.lock();
        let of_line = |call: &&ReceivedRequest| call.route() == line;
        state.calls.iter().filter(of_line).cloned().collect()
    }

    /// Is a generation running?
    pub fn is_busy(&self) -> bool {
        self.shared.state.lock().active.is_some()
    }
}

impl Shared {
    fn answer(&self, call: &ReceivedRequest) -> Reply {
        self.state.lock().calls.push(call.clone());
        if let Some(reply) = (self.instead)(call) {
            return reply;
        }
        let body = call.json();
        let whole = self.kind != Kind::Cpp;
        match call.route().as_str() {
            "POST /sdapi/v1/txt2img" | "POST /sdapi/v1/img2img" => self.generate(&body),
            "POST /sdapi/v1/extra-single-image" if whole => {
                let side = |key: &str| body[key].as_u64().unwrap_or(0) as u32;
                let (width, height) = (side("upscaling_resize_w"), side("upscaling_resize_h"));
                let image = STANDARD.encode(image(width, height));
                json(200, &json!({"html_info": "", "image": image}))
            }
            "POST /internal/progress" if matches!(self.kind, Kind::Automatic | Kind::Next) => {
                let state = self.state.lock();
                let knows = self.kind == Kind::Automatic;
                let active = knows && state.active.as_deref() == body["id_task"].as_str();
                let progress = active.then_some(state.fraction);
                json(
                    200,
                    &json!({"active": active, "queued": false, "completed": knows && !active, "progress": progress, "eta": null,
                        "live_preview": (active && body["live_preview"] == true && body["id_live_preview"] != 3).then(preview), "id_live_preview": 3}),
                )
            }
            "GET /sdapi/v1/progress" if whole => {
                let skips = call.query("skip_current_image").as_deref() == Some("true");
                let state = self.state.lock();
                let jobs = usize::from(state.active.is_some());
                let flags = json!({"interrupted": state.interrupted, "skipped": false, "job": "", "job_count": jobs,
                    "job_timestamp": state.job_timestamp.to_string()});
                json(
                    200,
                    &json!({"progress": state.fraction, "eta_relative": 1.0, "state": flags, "current_image": (!skips).then(preview)}),
                )
            }
            "POST /sdapi/v1/interrupt" if whole => {
                self.state.lock().held = false;
                self.changed.notify_all();
                json(200, &json!({}))
            }
            _ if self.kind == Kind::Cpp => text(404, ""),
            _ => json(404, &json!({"detail": "Not Found"})),
        }
    }

    fn generate(&self, body: &Value) -> Reply {
        let mut state = self.state.lock();
        state.begin();
        state.active = Some(
            body["force_task_id"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        );
        while state.held {
            if self.changed.wait_for(&mut state, PATIENCE).timed_out() {
                break;
            }
        }
        state.active = None;
        let (job_timestamp, interrupted) = (state.job_timestamp, state.interrupted);
        if let Some(interrupted) = state.next.take() {
            state.begin();
            state.interrupted = interrupted;
        }
        drop(state);
        let side = |key: &str| body[key].as_u64().unwrap_or(512) as u32;
        // SD.Next drops an interrupted image; the others return it as far as it is.
        let images = match self.kind == Kind::Next && interrupted {
            true => Vec::new(),
            false => vec![STANDARD.encode(image(side("width"), side("height")))],
        };
        answer_of(job_timestamp, &images)
    }
}

impl State {
    /// The flags are those of the running job, or of the last one.
    fn begin(&mut self) {
        self.interrupted = false;
        self.job_timestamp += 1;
    }
}

/// A preview in these servers' form.
fn preview() -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(image(8, 8)))
}

pub fn answer(images: &[String]) -> Reply {
    answer_of(0, images)
}

fn answer_of(job_timestamp: u64, images: &[String]) -> Reply {
    let info = json!({"seed": 5, "index_of_first_image": 0, "infotexts": ["a red fox"], "job_timestamp": job_timestamp.to_string()});
    json(
        200,
        &json!({"images": images, "parameters": {}, "info": info.to_string()}),
    )
}
