//! The back end, the shelf and the rest of the world of a node.

use super::shared::Shared;
use crate::chance::Chance;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::future::ready;
use std::sync::Arc;
use tintype_actors::ports::{
    AttemptOutcome, FetchedInputs, GenerateError, GenerationTask, Generator, ImageStore,
    InputFetcher, Picture, Transport,
};
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::ids::{JobId, NodeId};
use tintype_storage::domain::job::{Job, PromptText, ResultImage};
use tintype_storage::domain::webhook::Webhook;
use tokio::time::sleep;

/// A back end that knows at which node it works.
pub struct NodeGenerator {
    pub node: NodeId,
    pub shared: Arc<Shared>,
    pub chance: Chance,
}

struct Working {
    job: JobId,
    node: NodeId,
    shared: Arc<Shared>,
}

impl Drop for Working {
    fn drop(&mut self) {
        self.shared.work_ends(self.job, self.node);
    }
}

impl Generator for NodeGenerator {
    fn generate(
        &self,
        task: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        let (node, shared) = (self.node, Arc::clone(&self.shared));
        let span = self.chance.millis(10, 3_000);
        let fails = self.chance.one_in(12) && !self.shared.is_calm();
        async move {
            shared.work_begins(task.job, node);
            let _working = Working {
                job: task.job,
                node,
                shared,
            };
            sleep(span).await;
            match fails {
                true => Err(GenerateError::Refused("as chance says".into())),
                false => Ok(Picture::foreign(vec![1])),
            }
        }
        .boxed_local()
    }
}

/// Keeps every picture, finds no inputs, and sends nothing: no account here has a webhook or a batch.
pub struct Rest;

impl ImageStore for Rest {
    fn keep(
        &self,
        job: &Job,
        _: Picture,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>> {
        let image = ResultImage {
            key: format!("results/{}.png", job.id),
            bytes: 1,
            width: 1,
            height: 1,
            backend: None,
        };
        ready(Ok(image)).boxed_local()
    }

    fn words(&self, _: String) -> LocalBoxFuture<'static, Result<PromptText, GenerateError>> {
        ready(Ok(PromptText::default())).boxed_local()
    }

    fn forget_inputs(&self, _: &Job) -> LocalBoxFuture<'static, ()> {
        ready(()).boxed_local()
    }
}

impl InputFetcher for Rest {
    fn fetch(&self, job: &Job) -> LocalBoxFuture<'static, Result<FetchedInputs, GenerateError>> {
        panic!("job {} has no input images", job.id);
    }
}

impl Transport for Rest {
    fn attempt(&self, delivery: Delivery, _: Webhook) -> LocalBoxFuture<'static, AttemptOutcome> {
        panic!("delivery {} was owed to nobody", delivery.id);
    }
}
