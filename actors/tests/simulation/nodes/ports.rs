//! The ports of a node that needs neither webhooks nor batches.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::future::ready;
use tintype_actors::ports::{
    AttemptOutcome, CheckedImage, FetchedInputs, GeneratedImage, InputFetcher, JobObjects,
    PortFuture, Transport,
};
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::job::{Job, PromptText, ResultImage};
use tintype_storage::domain::webhook::Webhook;

/// Stores every image, and panics for inputs and deliveries.
pub struct NoopPorts;

impl JobObjects for NoopPorts {
    fn check_image(&self, _: &Job, image: GeneratedImage) -> PortFuture<CheckedImage> {
        let checked = CheckedImage {
            bytes: image.bytes,
            width: 1,
            height: 1,
        };
        ready(Ok(checked)).boxed_local()
    }

    fn store_image(&self, job: &Job, _: CheckedImage) -> PortFuture<ResultImage> {
        let image = ResultImage {
            key: format!("results/{}.png", job.id),
            bytes: 1,
            width: 1,
            height: 1,
            backend: None,
        };
        ready(Ok(image)).boxed_local()
    }

    fn read_prompt(&self, _: String) -> PortFuture<PromptText> {
        ready(Ok(PromptText::default())).boxed_local()
    }

    fn delete_inputs(&self, _: &Job) -> LocalBoxFuture<'static, ()> {
        ready(()).boxed_local()
    }
}

impl InputFetcher for NoopPorts {
    fn fetch(&self, job: &Job) -> PortFuture<FetchedInputs> {
        panic!("job {} has no input images", job.id);
    }
}

impl Transport for NoopPorts {
    fn attempt(&self, delivery: Delivery, _: Webhook) -> LocalBoxFuture<'static, AttemptOutcome> {
        panic!("delivery {} has no webhook", delivery.id);
    }
}
