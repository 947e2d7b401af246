//! A ComfyUI server without models, which queues, "runs" and remembers prompts like the real one, in three versions.

use crate::fixture::image;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use tintype_egress::testing::server::{ReceivedRequest, Reply, ScriptedServer, json, text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Has `/api/jobs`.
    New,
    /// Accepts a prompt id, and has only the queue and the history.
    Middle,
    /// Assigns its own prompt ids, interrupts any running prompt, and lists no models.
    Old,
}

#[derive(Clone, Debug)]
pub enum Fate {
    /// Finishes immediately.
    Done,
    /// Runs until the test changes its fate.
    Runs,
    /// Stays in the queue.
    Waits,
    /// Fails with an exception of this class and text.
    Fails(&'static str, &'static str),
    /// A user of the server interrupts it.
    Interrupted,
    /// Finishes without a stored file.
    Empty,
    /// A user of the server removes it from the queue.
    Removed,
    /// The server restarts, which closes the websockets.
    Lost,
}

/// An accepted prompt.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The id on the server.
    pub id: String,
    pub client: String,
    pub graph: Value,
    pub fate: Fate,
    number: usize,
}

#[derive(Default)]
struct State {
    calls: Vec<ReceivedRequest>,
    prompts: Vec<Prompt>,
    next: Vec<Fate>,
    uploads: BTreeMap<String, Vec<u8>>,
    sockets: HashMap<String, TcpStream>,
}

type Instead = dyn Fn(&ReceivedRequest) -> Option<Reply> + Send + Sync;

struct Shared {
    age: Age,
    /// Accepts prompts, and closes the connection instead of answering.
    loses_responses: bool,
    state: Mutex<State>,
    instead: Box<Instead>,
}

pub struct Stub {
    server: ScriptedServer,
    shared: Arc<Shared>,
}

impl Stub {
    pub fn start(age: Age) -> Self {
        Self::with(age, |_| None)
    }

    /// `other` may replace the answer to a call.
    pub fn with(
        age: Age,
        instead: impl Fn(&ReceivedRequest) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::serve(age, false, Box::new(instead))
    }

    /// Accepts prompts, and closes the connection instead of answering.
    pub fn losing_submissions(age: Age) -> Self {
        Self::serve(age, true, Box::new(|_| None))
    }

    fn serve(age: Age, loses_responses: bool, instead: Box<Instead>) -> Self {
        let shared = Arc::new(Shared {
            age,
            loses_responses,
            state: Mutex::default(),
            instead,
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

    /// Sets the fates of the next prompts; later ones are `Done`.
    pub fn next(&self, fates: &[Fate]) {
        self.shared.state.lock().next = fates.to_vec();
    }

    /// Changes the fate of all accepted prompts.
    pub fn all_become(&self, fate: Fate) {
        let mut state = self.shared.state.lock();
        let prompts = state.prompts.iter_mut();
        prompts.for_each(|prompt| prompt.fate = fate.clone());
    }

    pub fn prompts(&self) -> Vec<Prompt> {
        self.shared.state.lock().prompts.clone()
    }

    pub fn uploads(&self) -> BTreeMap<String, Vec<u8>> {
        self.shared.state.lock().uploads.clone()
    }

    /// The calls with this line, such as `POST /prompt`.
    pub fn calls(&self, line: &str) -> Vec<ReceivedRequest> {
        let state = self.shared.state.lock();
        let of_line = |call: &&ReceivedRequest| call.route() == line;
        state.calls.iter().filter(of_line).cloned().collect()
    }

    /// The number of status lookups.
    pub fn questions(&self) -> usize {
        let state = self.shared.state.lock();
        let asks = |call: &&ReceivedRequest| call.route().starts_with("GET /api/jobs/");
        state.calls.iter().filter(asks).count()
    }

    /// Is a websocket open?
    pub fn has_listener(&self) -> bool {
        !self.shared.state.lock().sockets.is_empty()
    }

    /// Sends every listener an event.
    pub fn tell(&self, kind: &str, data: &Value) {
        let frame = json!({"type": kind, "data": data}).to_string();
        self.send(0x1, frame.as_bytes());
    }

    /// Sends every listener a frame of this opcode.
    pub fn send(&self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            short @ 0..126 => frame.push(short as u8),
            long => {
                frame.push(126);
                frame.extend((long as u16).to_be_bytes());
            }
        }
        frame.extend(payload);
        for socket in self.shared.state.lock().sockets.values_mut() {
            let _ = socket.write_all(&frame);
        }
    }
}

impl Shared {
    fn answer(self: &Arc<Self>, call: &ReceivedRequest) -> Reply {
        self.state.lock().calls.push(call.clone());
        assert_eq!(
            call.header("origin"),
            None,
            "refused with 403 by the real one"
        );
        if let Some(reply) = (self.instead)(call) {
            return reply;
        }
        let path = call.path().to_owned();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (call.method.as_str(), &parts[..]) {
            ("POST", ["prompt"]) => self.take(&call.json()),
            ("GET", ["queue"]) => json(200, &self.queue()),
            ("GET", ["history", id]) => json(200, &self.history(Some(id))),
            ("GET", ["history"]) => json(200, &self.history(None)),
            ("POST", ["upload", "image"]) => self.keep(call),
            ("GET", ["view"]) => self.view(call),
            ("GET", ["ws"]) => self.listen(call),
            ("GET", ["models", "checkpoints"]) if self.age != Age::Old => {
                json(200, &json!(["first.safetensors", "second.safetensors"]))
            }
            ("GET", ["object_info", "CheckpointLoaderSimple"]) => {
                let names = json!([["old.ckpt", "older.ckpt"], {"tooltip": ""}]);
                json(
                    200,
                    &json!({"CheckpointLoaderSimple": {"input": {"required": {"ckpt_name": names}}}}),
                )
            }
            ("POST", ["queue"]) => self.delete(&call.json()),
            ("POST", ["interrupt"]) => self.interrupt(&call.json()),
            ("GET", ["api", "jobs", id]) if self.age == Age::New => self.job(id),
            ("POST", ["api", "jobs", id, "cancel"]) if self.age == Age::New => {
                let canceled = self.end(|prompt| prompt.id == *id);
                json(200, &json!({"cancelled": canceled}))
            }
            // aiohttp's own 404, which is not JSON.
            ("POST", ["api", ..]) => text(405, "405: Method Not Allowed"),
            _ => text(404, "404: Not Found"),
        }
    }

    fn take(&self, body: &Value) -> Reply {
        let mut state = self.state.lock();
        let number = state.prompts.len();
        let ours = body["prompt_id"].as_str().filter(|_| self.age != Age::Old);
        let id = ours.map_or_else(|| format!("of-the-server-{number}"), str::to_owned);
        let fate = match state.next.is_empty() {
            true => Fate::Done,
            false => state.next.remove(0),
        };
        if matches!(fate, Fate::Lost) {
            for (_, socket) in state.sockets.drain() {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
        state.prompts.push(Prompt {
            id: id.clone(),
            client: body["client_id"].as_str().unwrap_or_default().to_owned(),
            graph: body["prompt"].clone(),
            fate,
            number,
        });
        if self.loses_responses {
            return Reply::Raw(Vec::new());
        }
        json(
            200,
            &json!({"prompt_id": id, "number": number, "node_errors": {}}),
        )
    }

    /// Cancels queued or running prompts.
    fn end(&self, of: impl Fn(&Prompt) -> bool) -> bool {
        let mut state = self.state.lock();
        let live = |it: &&mut Prompt| matches!(it.fate, Fate::Runs | Fate::Waits) && of(it);
        let ended: Vec<_> = state.prompts.iter_mut().filter(live).collect();
        let any = !ended.is_empty();
        ended.into_iter().for_each(|it| it.fate = Fate::Interrupted);
        any
    }

    fn delete(&self, body: &Value) -> Reply {
        assert!(body.get("clear").is_none(), "that is everybody's");
        let ids = body["delete"].as_array().cloned().unwrap_or_default();
        self.end(|it| matches!(it.fate, Fate::Waits) && ids.iter().any(|id| it.id == *id));
        text(200, "")
    }

    fn interrupt(&self, body: &Value) -> Reply {
        let named = body["prompt_id"].as_str().filter(|_| self.age != Age::Old);
        self.end(|it| matches!(it.fate, Fate::Runs) && named.is_none_or(|id| it.id == id));
        text(200, "")
    }

    fn queue(&self) -> Value {
        let state = self.state.lock();
        let list = |wanted: fn(&Fate) -> bool| -> Vec<Value> {
            let prompts = state.prompts.iter().filter(|it| wanted(&it.fate));
            prompts.map(entry).collect()
        };
        json!({
            "queue_running": list(|fate| matches!(fate, Fate::Runs)),
            "queue_pending": list(|fate| matches!(fate, Fate::Waits)),
        })
    }

    fn history(&self, id: Option<&str>) -> Value {
        let state = self.state.lock();
        let mut history = Map::new();
        for prompt in state
            .prompts
            .iter()
            .filter(|it| id.is_none_or(|id| it.id == id))
        {
            let message = |name: &str, data: Value| json!([["execution_start", {}], [name, data]]);
            let (status, messages) = match &prompt.fate {
                Fate::Done | Fate::Empty => ("success", message("execution_success", json!({}))),
                Fate::Fails(class, words) => {
                    ("error", message("execution_error", exception(class, words)))
                }
                Fate::Interrupted => ("error", message("execution_interrupted", json!({}))),
                Fate::Runs | Fate::Waits | Fate::Removed | Fate::Lost => continue,
            };
            let record = json!({
                "prompt": entry(prompt),
                "outputs": outputs(prompt),
                "status": {"status_str": status, "completed": status == "success", "messages": messages},
            });
            history.insert(prompt.id.clone(), record);
        }
        Value::Object(history)
    }

    fn job(&self, id: &str) -> Reply {
        let state = self.state.lock();
        let known = |it: &&Prompt| it.id == id && !matches!(it.fate, Fate::Removed | Fate::Lost);
        let Some(prompt) = state.prompts.iter().find(known) else {
            return json(404, &json!({"error": "Job not found"}));
        };
        let (status, error) = match &prompt.fate {
            Fate::Done | Fate::Empty => ("completed", Value::Null),
            Fate::Runs => ("in_progress", Value::Null),
            Fate::Waits => ("pending", Value::Null),
            Fate::Fails(class, words) => ("failed", exception(class, words)),
            Fate::Interrupted | Fate::Removed | Fate::Lost => ("cancelled", Value::Null),
        };
        json(
            200,
            &json!({"id": id, "status": status, "outputs": outputs(prompt), "execution_error": error}),
        )
    }

    fn keep(&self, call: &ReceivedRequest) -> Reply {
        let body = &call.body;
        let find = |what: &[u8], from: usize| {
            let found = body[from..].windows(what.len()).position(|it| it == what);
            found.map(|at| from + at)
        };
        let file = find(b"filename=\"", 0).expect("a file") + 10;
        let name = String::from_utf8_lossy(&body[file..find(b"\"", file).expect("its name")]);
        let start = find(b"\r\n\r\n", file).expect("its head") + 4;
        let end = find(b"\r\n--", start).expect("its end");
        // As if the name were taken.
        let renamed = format!("renamed-{name}");
        let mut state = self.state.lock();
        state
            .uploads
            .insert(renamed.clone(), body[start..end].to_vec());
        json(
            200,
            &json!({"name": renamed, "subfolder": "tintype", "type": "input"}),
        )
    }

    fn view(&self, call: &ReceivedRequest) -> Reply {
        let name = call.query("filename").unwrap_or_default();
        let state = self.state.lock();
        let of_file = |it: &&Prompt| filename(it) == name;
        match state.prompts.iter().find(of_file) {
            Some(prompt) if call.query("subfolder").as_deref() == Some("a b&c") => {
                let (width, height) = size_of(&prompt.graph);
                Reply::Full(200, "image/png", image(width, height))
            }
            _ => text(404, ""),
        }
    }

    fn listen(self: &Arc<Self>, call: &ReceivedRequest) -> Reply {
        let client = call.query("clientId").unwrap_or_default();
        let shared = Arc::clone(self);
        assert_eq!(call.header("sec-websocket-version"), Some("13"));
        assert!(
            call.header("sec-websocket-key")
                .is_some_and(|key| key.len() == 24)
        );
        Reply::Handler(Arc::new(move |stream| {
            let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
            // Locked before the client can go on.
            let mut state = shared.state.lock();
            if stream.write_all(head.as_bytes()).is_ok() {
                let socket = stream.try_clone().expect("a socket");
                state.sockets.insert(client.clone(), socket);
            }
        }))
    }
}

fn entry(prompt: &Prompt) -> Value {
    json!([prompt.number, prompt.id, prompt.graph, {"client_id": prompt.client}, ["save"]])
}

fn exception(class: &str, words: &str) -> Value {
    json!({"node_id": "sampler", "node_type": "KSampler", "exception_type": class, "exception_message": words, "traceback": ["Traceback at /opt/s3cret"]})
}

fn filename(prompt: &Prompt) -> String {
    format!("{}_00001_ .png", prompt.number)
}

/// The preview comes first, which the server allows.
fn outputs(prompt: &Prompt) -> Value {
    let file =
        |name: String, kind: &str| json!({"filename": name, "subfolder": "a b&c", "type": kind});
    match prompt.fate {
        Fate::Done => json!({
            "a-preview": {"images": [file("preview.png".into(), "temp")]},
            "save": {"images": [file(filename(prompt), "output")]},
        }),
        _ => json!({}),
    }
}

fn size_of(graph: &Value) -> (u32, u32) {
    let sized = graph
        .as_object()
        .into_iter()
        .flatten()
        .find_map(|(_, node)| {
            let side = |key: &str| node["inputs"][key].as_u64();
            Some((side("width")? as u32, side("height")? as u32))
        });
    sized.unwrap_or((64, 64))
}
