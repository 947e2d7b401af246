//! Fetches the input images of a batch job when the dispatcher starts it, by the rules for the images of a single request.

use crate::inputs::{IngestError, InputImages, mask};
use crate::objects::ObjectStorage;
use crate::request_text::{self, RequestTextError};
use futures_util::FutureExt as _;
use std::sync::Arc;
use tintype_actors::ports::{FetchedInputs, GenerateError, InputFetcher, PortFuture};
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::catalog::Catalog;
use tintype_storage::domain::job::Job;

#[derive(Clone)]
pub struct BatchInputFetcher {
    pub inputs: Arc<InputImages>,
    /// The object store of URLs that do not fit a record.
    pub objects: ObjectStorage,
    pub catalog: Catalog,
}

impl InputFetcher for BatchInputFetcher {
    fn fetch(&self, job: &Job) -> PortFuture<FetchedInputs> {
        fetch(self.clone(), job.clone()).boxed_local()
    }
}

async fn fetch(fetcher: BatchInputFetcher, job: Job) -> Result<FetchedInputs, GenerateError> {
    let urls = match job.input_urls() {
        None => Vec::new(),
        Some(InputUrls::Inline(urls)) => urls.clone(),
        Some(InputUrls::Stored(key)) => request_text::load_urls(&fetcher.objects, key)
            .await
            .map_err(unreadable)?,
    };
    let inputs = &fetcher.inputs;
    let has_mask = job.options().has_mask;
    let mask = has_mask.then(|| urls.len().saturating_sub(1));
    let fetched = inputs.of(job.account).fetch(&urls, 0, mask).await;
    let fetched = fetched.map_err(|error| match error {
        IngestError::Invalid(faults) => {
            GenerateError::Refused(faults.text(inputs.config.max_total_bytes, mask))
        }
        IngestError::MemoryUnavailable(fault) => GenerateError::Storage(fault.to_string()),
        IngestError::Store(fault) => {
            tracing::error!(job = %job.id, error = %fault, "input images could not be stored");
            GenerateError::Storage("the input images could not be stored; try again".into())
        }
    })?;
    if has_mask
        && let [first, .., mask] = &fetched[..]
        && let Err(message) = mask::check_size(mask, first)
    {
        inputs.discard(&fetched).await;
        return Err(GenerateError::Refused(format!("mask {message}")));
    }
    let first = fetched.first().map(|image| (image.width, image.height));
    Ok(FetchedInputs {
        ratio: fetcher.ratio(&job, first),
        inputs: fetched,
    })
}

impl BatchInputFetcher {
    /// The aspect ratio to generate: for `auto`, the offered one nearest to the first image.
    fn ratio(&self, job: &Job, first: Option<(u32, u32)>) -> AspectRatio {
        let nearest = first.and_then(|size| self.catalog.tier(job.tier).nearest_ratio(size));
        match (job.aspect, nearest) {
            (AspectChoice::Auto, Some(ratio)) => ratio,
            (AspectChoice::Auto | AspectChoice::Fixed(_), _) => job.ratio,
        }
    }
}

fn unreadable(error: RequestTextError) -> GenerateError {
    tracing::error!(%error, "the URLs of input images could not be read");
    let is_permanent = error.is_gone() || matches!(error, RequestTextError::Damaged(_));
    match is_permanent {
        true => {
            GenerateError::BackendFault("the URLs of the input images are no longer stored".into())
        }
        false => GenerateError::Storage(
            "the URLs of the input images could not be read; try again".into(),
        ),
    }
}
