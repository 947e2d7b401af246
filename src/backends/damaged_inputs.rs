//! Reports the API key of a job whose input image fails to decode.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture};
use tintype_storage::domain::ids::KeyId;

pub type OnDamagedInput = Arc<dyn Fn(KeyId) + Send + Sync>;

/// A generator that reports jobs with damaged input images.
///
/// The server checks an image's header before it accepts the job, and decodes the whole image only for a backend. The failed
/// job is free, so without this report a caller could make the server decode damaged images at no cost.
pub struct ReportsDamagedInputs {
    pub inner: Arc<dyn Generator>,
    pub report: OnDamagedInput,
}

impl Generator for ReportsDamagedInputs {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        let (key, report) = (task.key, Arc::clone(&self.report));
        let image = self.inner.generate(task);
        async move {
            let outcome = image.await;
            if let Err(GenerateError::InvalidRequest(_)) = &outcome {
                report(key);
            }
            outcome
        }
        .boxed_local()
    }

    fn has_earlier_work(&self, task: GenerationTask) -> LocalBoxFuture<'static, bool> {
        self.inner.has_earlier_work(task)
    }
}
