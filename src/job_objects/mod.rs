//! The objects of jobs: results, prompts and input images.

mod result_upload;
mod result_validation;

pub use result_upload::Writers;

use crate::inputs::InputDeletion;
use crate::objects::ObjectStorage;
use crate::request_text;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use result_upload::{check_image, store_image};
use tintype_actors::ports::{CheckedImage, GenerateError, GeneratedImage, JobObjects, PortFuture};
use tintype_storage::domain::job::{Job, PromptText, ResultImage};

#[derive(Clone)]
pub struct JobObjectStore {
    objects: ObjectStorage,
    writers: Writers,
    input_deletion: InputDeletion,
}

impl JobObjectStore {
    pub fn new(objects: ObjectStorage, writers: Writers, input_deletion: InputDeletion) -> Self {
        Self {
            objects,
            writers,
            input_deletion,
        }
    }
}

impl JobObjects for JobObjectStore {
    fn check_image(&self, job: &Job, image: GeneratedImage) -> PortFuture<CheckedImage> {
        check_image(job.clone(), image).boxed_local()
    }

    fn store_image(&self, job: &Job, image: CheckedImage) -> PortFuture<ResultImage> {
        store_image(self.objects.clone(), self.writers, job.clone(), image).boxed_local()
    }

    fn is_usable(&self) -> bool {
        self.objects.is_usable()
    }

    fn read_prompt(&self, key: String) -> PortFuture<PromptText> {
        let objects = self.objects.clone();
        async move {
            request_text::load(&objects, &key).await.map_err(|error| {
                tracing::error!(%key, %error, "could not read the prompt of a job");
                GenerateError::Storage("the stored request could not be read; try again".into())
            })
        }
        .boxed_local()
    }

    fn delete_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()> {
        self.input_deletion.delete(job)
    }
}
