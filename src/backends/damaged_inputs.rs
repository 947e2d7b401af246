//! Tells which API key sent an input image that turns out damaged once it is decoded.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture};
use tintype_storage::domain::ids::KeyId;

/// Hears of each key whose job failed for a damaged input image.
pub type OnDamagedInput = Arc<dyn Fn(KeyId) + Send + Sync>;

/// A generator whose damaged inputs are told.
///
/// The header of an input image is checked before its job is accepted, and the whole image only where it is decoded for a back
/// end. Such a job is free, so without this its decoding would cost the caller nothing.
pub struct ReportsDamagedInputs {
    pub inner: Arc<dyn Generator>,
    pub report: OnDamagedInput,
}

impl Generator for ReportsDamagedInputs {
    fn generate(
        &self,
        task: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        let (key, report) = (task.key, Arc::clone(&self.report));
        let picture = self.inner.generate(task);
        async move {
            let outcome = picture.await;
            if let Err(GenerateError::Unsound(_)) = &outcome {
                report(key);
            }
            outcome
        }
        .boxed_local()
    }

    fn holds(&self, task: GenerationTask) -> LocalBoxFuture<'static, bool> {
        self.inner.holds(task)
    }
}
