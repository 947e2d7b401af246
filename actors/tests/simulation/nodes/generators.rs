//! The backend of a node.

use super::shared::SharedState;
use crate::rng::Rng;
use futures_util::FutureExt as _;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture};
use tintype_storage::domain::ids::{JobId, NodeId};
use tokio::time::sleep;

/// Reports to the shared state on which node it works.
pub struct NodeGenerator {
    pub node: NodeId,
    pub shared: Arc<SharedState>,
    pub rng: Rng,
}

struct Working {
    job: JobId,
    node: NodeId,
    shared: Arc<SharedState>,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.shared.work_ends(self.job, self.node);
    }
}

impl Generator for NodeGenerator {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        let (node, shared) = (self.node, Arc::clone(&self.shared));
        let span = self.rng.millis(10, 3_000);
        let fails = self.rng.one_in(12) && !self.shared.is_calm();
        async move {
            shared.work_begins(task.job, node);
            let _working = Working {
                job: task.job,
                node,
                shared,
            };
            sleep(span).await;
            match fails {
                true => Err(GenerateError::Refused("an injected refusal".into())),
                false => Ok(GeneratedImage::foreign(vec![1])),
            }
        }
        .boxed_local()
    }
}
