//! Cancels a prompt on the server when its run is dropped.

use super::server::Server;
use tokio::sync::watch;

/// Cancels a prompt, by its id, when dropped while armed. Best effort. During shutdown it does not cancel: the job runs again after
/// the restart and adopts the prompt.
pub struct CancelOnDrop {
    work: Option<(Server, String)>,
    cut_off: watch::Receiver<bool>,
}

impl CancelOnDrop {
    /// Returns an armed guard. Create it before submitting the prompt.
    pub fn new(server: Server, id: String, cut_off: watch::Receiver<bool>) -> Self {
        Self {
            work: Some((server, id)),
            cut_off,
        }
    }

    /// Call it when the server assigned the prompt another id.
    pub fn set_id(&mut self, id: &str) {
        if let Some((_, known)) = &mut self.work {
            id.clone_into(known);
        }
    }

    /// Call it when the prompt has ended.
    pub fn disarm(&mut self) {
        self.work = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some((server, id)) = self.work.take()
            && !*self.cut_off.borrow()
        {
            let upstream = server.upstream().clone();
            upstream.clean_up(format!("cancel the abandoned prompt {id}"), async move {
                server.cancel(&id).await
            });
        }
    }
}
