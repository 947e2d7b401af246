//! Ends a prompt that nobody waits for any more.

use super::server::Server;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Cancels a prompt when it is dropped while armed, unless the process is being stopped: after the restart the job is run
/// again, and finds the prompt. Best effort, and by its id alone.
pub struct Abandon {
    work: Option<(Server, String)>,
    cut_off: watch::Receiver<bool>,
}

impl Abandon {
    /// Armed, for a prompt that is about to be submitted under this id.
    pub fn new(server: Server, id: String, cut_off: watch::Receiver<bool>) -> Self {
        Self {
            work: Some((server, id)),
            cut_off,
        }
    }

    /// The server knows the prompt by another id.
    pub fn known_as(&mut self, id: &str) {
        if let Some((_, known)) = &mut self.work {
            id.clone_into(known);
        }
    }

    /// The prompt has ended.
    pub fn disarm(&mut self) {
        self.work = None;
    }
}

impl Drop for Abandon {
    fn drop(&mut self) {
        let (Some((server, id)), Ok(runtime)) = (self.work.take(), Handle::try_current()) else {
            return;
        };
        if !*self.cut_off.borrow() {
            runtime.spawn(async move { server.cancel(&id).await });
        }
    }
}
