//! A trace collector on loopback, also used as a webhook receiver: it records each POST.

use crate::support::poll::until_some;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use tintype_egress::testing::server::{ReceivedRequest, Reply, ScriptedServer, response};

#[derive(Default)]
struct Shared {
    received: Mutex<Vec<ReceivedRequest>>,
    answers: Mutex<VecDeque<(u16, String)>>,
}

/// The collector. It stops when it goes out of scope.
pub struct Collector {
    server: ScriptedServer,
    shared: Arc<Shared>,
}

impl Collector {
    /// One that takes everything.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let server = ScriptedServer::start(move |request| {
            let answer = own.answers.lock().pop_front();
            let (status, headers) = answer.unwrap_or((200, String::new()));
            if (200..300).contains(&status) {
                own.received.lock().push(request.clone());
            }
            let headers = format!("{headers}Content-Type: application/json\r\n");
            Reply::Raw(response(status, &headers, b"{}"))
        });
        Self { server, shared }
    }

    /// A URL of it.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Answers the next post that has no answer yet with this status and these further header lines.
    pub fn answer_next(&self, status: u16, headers: &[&str]) {
        let headers = headers.iter().map(|it| format!("{it}\r\n")).collect();
        self.shared.answers.lock().push_back((status, headers));
    }

    /// What was posted so far and taken.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.received.lock().clone()
    }

    /// The spans that were posted so far and taken, in no order.
    pub fn spans(&self) -> Vec<Value> {
        let mut spans = Vec::new();
        for received in self.received() {
            for resource in received.json()["resourceSpans"].as_array().unwrap() {
                for scope in resource["scopeSpans"].as_array().unwrap() {
                    spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
                }
            }
        }
        spans
    }

    /// The span of this name, once it is there.
    pub fn span(&self, name: &str) -> Value {
        until_some(&format!("the span `{name}` is there"), || {
            self.spans().into_iter().find(|span| span["name"] == name)
        })
    }
}
