//! A scripted webhook receiver on loopback that records its requests.

use crate::support::until;
use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::Arc;
use tintype_egress::testing::server::ScriptedServer;
pub use tintype_egress::testing::server::{ReceivedRequest, Reply, response};

/// Stops when dropped.
pub struct Receiver {
    server: ScriptedServer,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Deref for Receiver {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.server
    }
}

impl Receiver {
    pub fn always(reply: Reply) -> Self {
        Self::deciding(move |_, _| reply.clone())
    }

    /// Answers 200 without a body.
    pub fn content() -> Self {
        Self::always(Reply::Status(200))
    }

    /// Answers with these statuses in turn, then repeats the last one.
    pub fn statuses(statuses: &[u16]) -> Self {
        let statuses = statuses.to_vec();
        Self::deciding(move |number, _| Reply::Status(statuses[number.min(statuses.len() - 1)]))
    }

    /// Calls `decide` for each request; the first has number 0.
    pub fn deciding(
        decide: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let received: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let recording = Arc::clone(&received);
        let server = ScriptedServer::start(move |request| {
            let number = {
                let mut received = recording.lock();
                received.push(request.clone());
                received.len() - 1
            };
            decide(number, request)
        });
        Self { server, received }
    }

    /// All requests so far, in order.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().clone()
    }

    pub fn count(&self) -> usize {
        self.received.lock().len()
    }

    /// Waits for this number of requests and returns them; panics if there are more.
    #[track_caller]
    pub fn once(&self, count: usize) -> Vec<ReceivedRequest> {
        until("the deliveries have arrived", || self.count() >= count);
        let received = self.received();
        assert_eq!(received.len(), count, "more deliveries than awaited");
        received
    }
}
