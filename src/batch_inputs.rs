//! Fetches the input images of a batch job when the dispatcher starts it, by the rules for the images of a single request.

use crate::config::Inputs;
use crate::inputs::{self, IngestError, InputLimits, MemoryBudget, OwnFiles, mask};
use crate::objects::ObjectStorage;
use crate::request_text::{self, RequestTextError};
use futures_util::FutureExt as _;
use tintype_actors::clock::Clock;
use tintype_actors::ports::{FetchedInputs, GenerateError, InputFetcher, PortFuture};
use tintype_egress::Client;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::catalog::Catalog;
use tintype_storage::domain::job::Job;
use tintype_storage::store::Store;

#[derive(Clone)]
pub struct BatchInputs {
    pub egress: Client,
    pub objects: ObjectStorage,
    pub records: Store,
    pub clock: Clock,
    pub catalog: Catalog,
    pub limits: Inputs,
    /// Shared with all requests.
    pub memory: MemoryBudget,
}

impl InputFetcher for BatchInputs {
    fn fetch(&self, job: &Job) -> PortFuture<FetchedInputs> {
        fetch(self.clone(), job.clone()).boxed_local()
    }
}

async fn fetch(fetcher: BatchInputs, job: Job) -> Result<FetchedInputs, GenerateError> {
    let urls = match job.input_urls() {
        None => Vec::new(),
        Some(InputUrls::Inline(urls)) => urls.clone(),
        Some(InputUrls::Stored(key)) => request_text::load_urls(&fetcher.objects, key)
            .await
            .map_err(unreadable)?,
    };
    let timeout = fetcher.limits.timeout();
    let limits = InputLimits::new(&fetcher.limits, fetcher.memory.of(job.account, timeout));
    let prefix = inputs::new_prefix();
    let store = fetcher.objects.store();
    let own_files = OwnFiles {
        objects: &fetcher.objects,
        records: &fetcher.records,
        account: job.account,
        now: (fetcher.clock)(),
    };
    let (egress, images, own_files) = (&fetcher.egress, store.clone(), Some(own_files));
    let has_mask = job.options().has_mask;
    let mask = has_mask.then(|| urls.len().saturating_sub(1));
    let fetched = inputs::ingest(egress, images, &prefix, &urls, &limits, own_files, mask);
    let fetched = fetched.await.map_err(|error| match error {
        IngestError::Invalid(faults) => {
            GenerateError::Refused(faults.text(limits.max_total_bytes, mask))
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
        inputs::discard(store.as_ref(), &fetched).await;
        return Err(GenerateError::Refused(format!("mask {message}")));
    }
    let first = fetched.first().map(|image| (image.width, image.height));
    Ok(FetchedInputs {
        ratio: fetcher.ratio(&job, first),
        inputs: fetched,
    })
}

impl BatchInputs {
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
        true => GenerateError::Broken("the URLs of the input images are no longer stored".into()),
        false => GenerateError::Storage(
            "the URLs of the input images could not be read; try again".into(),
        ),
    }
}
