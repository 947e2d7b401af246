//! Submits a batch, whole or not at all. The order of checks is that of [`super::submit_generation`]. Input images are fetched later,
//! when their job starts.

use super::admission::{Admission, AdmissionRequest, BeforeDecision};
use super::batch_request::{self, BatchEntry, BatchRequest};
use super::call_objects::CallObjects;
use super::generation_request::square_or_first;
use crate::application::caller::payer::Payer;
use crate::application::core::audit_context::{AuditContext, Subject, creation_entry};
use crate::application::core::commit::detached;
use crate::application::error::Error;
use crate::application::idempotency;
use crate::application::services::GenerationService;
use crate::inputs::Reservation;
use crate::request_text;
use futures_util::future::join_all;
use serde_json::json;
use std::ops::ControlFlow;
use std::sync::Arc;
use tintype_actors::account::{AccountHandle, CallerConnection};
use tintype_api::BatchEstimate;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::audit_log::{Action, ToAuditEntry};
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::ids::BatchId;
use tintype_storage::domain::job::PromptText;
use tintype_storage::domain::tier::Mode;
use tintype_storage::json::Json;
use tintype_storage::store::{AcceptedBatch, IdempotencyUse, NewBatch, NewBatchJob};
use tokio::sync::mpsc;

/// Requests whose texts are stored in parallel.
const STORED_IN_PARALLEL: usize = 32;

/// Submits a batch, or returns the batch of the first call with this idempotency key.
///
/// # Errors
/// The first check that fails. The service then stores and charges nothing.
pub async fn submit_batch(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: BatchRequest,
) -> Result<AcceptedBatch, Error> {
    let mut submission = match Submission::prepare(generations, payer, request).await? {
        ControlFlow::Break(batch) => return Ok(batch),
        ControlFlow::Continue(submission) => submission,
    };
    if !submission.needs_objects {
        return submission.accept().await;
    }
    let (connection, _waits) = mpsc::channel(1);
    submission.connection = Some(connection);
    // Detached: a caller that disconnects must leave no objects behind.
    detached(submission.accept()).await
}

/// Runs every check of a submission and stores nothing. Neither uses nor replays an idempotency key.
///
/// # Errors
/// The first check that fails.
pub async fn estimate_batch(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: BatchRequest,
) -> Result<BatchEstimate, Error> {
    let core = &generations.core;
    let used = request.idempotency();
    idempotency::check_dry_run(core, payer, used.as_ref()).await?;
    let price = price_of(generations, &request)?;
    let admission = admission_request(&request, None, price, true);
    Admission::check(generations, payer, &admission).await?;
    let account = core.store.account(payer.account()).await?;
    let available = account.map(|it| it.balances.available());
    Ok(BatchEstimate {
        price: price.into(),
        requests: request.entries.len(),
        available: available.unwrap_or_default().into(),
    })
}

/// `stores_text`: does the call store a text, or is it checked as if it did?
fn admission_request<'a>(
    request: &'a BatchRequest,
    used: Option<&'a IdempotencyUse>,
    price: Amount,
    stores_text: bool,
) -> AdmissionRequest<'a> {
    AdmissionRequest {
        used,
        models: request.models(),
        jobs: request.entries.len(),
        price,
        callback_url: request.callback_url.as_deref(),
        before_decision: match stores_text {
            true => BeforeDecision::StoresText,
            false => BeforeDecision::Nothing,
        },
    }
}

/// A batch that has passed the cheap checks.
struct Submission {
    generations: Arc<GenerationService>,
    payer: Payer,
    entries: Vec<BatchEntry>,
    price: Amount,
    text: PromptText,
    used: Option<IdempotencyUse>,
    admission: Admission,
    file: Option<FileBatchTerms>,
    /// Whether some texts are too large for their records.
    needs_objects: bool,
    /// If the caller does not wait for the decision itself.
    connection: Option<CallerConnection>,
    /// Held until the batch is decided.
    _memory: Option<Reservation>,
}

impl Submission {
    /// Breaks with the batch of the first call if this one is a replay.
    async fn prepare(
        generations: &Arc<GenerationService>,
        payer: &Payer,
        mut request: BatchRequest,
    ) -> Result<ControlFlow<AcceptedBatch, Self>, Error> {
        let price = price_of(generations, &request)?;
        let used = request.idempotency();
        let text = PromptText {
            prompt: String::new(),
            metadata: request.metadata.take().as_ref().map(Json::to_compact),
        };
        let needs_objects =
            request_text::is_too_large(&text) || request.entries.iter().any(is_too_large);
        let admission = admission_request(&request, used.as_ref(), price, needs_objects);
        let admission = Admission::of(generations, payer, &admission).await?;
        let replayed = |first| AcceptedBatch {
            batch: BatchId(first),
            replayed: true,
        };
        Ok(admission
            .map_break(replayed)
            .map_continue(|admission| Self {
                generations: Arc::clone(generations),
                payer: payer.clone(),
                entries: request.entries,
                price,
                text,
                used,
                admission,
                file: request.file,
                needs_objects,
                connection: None,
                _memory: request.memory,
            }))
    }

    async fn accept(mut self) -> Result<AcceptedBatch, Error> {
        let generations = Arc::clone(&self.generations);
        let mut objects = CallObjects::default();
        let outcome = self.reserve(&mut objects).await;
        objects
            .settle(&generations, &outcome, |it| !it.replayed)
            .await;
        outcome
    }

    async fn reserve(&mut self, objects: &mut CallObjects) -> Result<AcceptedBatch, Error> {
        let batch = self.new_batch(objects).await?;
        let to_entry = self.payer.audit.as_ref();
        let to_entry = to_entry.map(|audit| self.to_entry(audit, &batch));
        let account = self.payer.account();
        let permits = &self.generations.limits.batches;
        let _permit = permits
            .acquire_to_write(account, &self.generations.core.store)
            .await;
        let (core, connection) = (&self.generations.core, self.connection.take());
        let send = |account: &AccountHandle, reply| account.accept_batch(batch, to_entry, reply);
        self.admission
            .reserve(core, &self.payer, connection, send)
            .await
    }

    /// Builds the batch record and takes the entries.
    async fn new_batch(&mut self, objects: &mut CallObjects) -> Result<NewBatch, Error> {
        let mut entries = std::mem::take(&mut self.entries).into_iter();
        let mut requests = Vec::with_capacity(entries.len());
        loop {
            let next: Vec<BatchEntry> = entries.by_ref().take(STORED_IN_PARALLEL).collect();
            if next.is_empty() {
                break;
            }
            // Wait for all even if one fails, so that none stores an object after the response.
            let prepared = join_all(
                next.into_iter()
                    .map(|it| prepare_job(&self.generations, it)),
            )
            .await;
            let mut outcomes = Vec::with_capacity(prepared.len());
            for (stored, outcome) in prepared {
                objects.absorb(stored);
                outcomes.push(outcome);
            }
            for outcome in outcomes {
                requests.push(outcome?);
            }
        }
        let text = std::mem::take(&mut self.text);
        Ok(NewBatch {
            key: self.payer.key.id,
            shown: self.payer.shown,
            account_rate_limit: self.payer.counted.account.map(|it| it.rate),
            requests,
            price: self.price,
            text: objects.store_prompt(&self.generations, text).await?,
            callback: self.admission.callback.take(),
            idempotency: self.used.take(),
            file: self.file.take(),
        })
    }

    fn to_entry(&self, audit: &AuditContext, batch: &NewBatch) -> ToAuditEntry<BatchId> {
        let subject = Subject::of_account(self.payer.account());
        let entry = audit.entry(&self.generations.core, Action::BatchCreate, subject);
        let facts = json!({
            "key_id": batch.key.to_string(),
            "requests": batch.requests.len(),
            "price": batch.price.to_string(),
        });
        creation_entry(entry, facts)
    }
}

fn price_of(generations: &GenerationService, request: &BatchRequest) -> Result<Amount, Error> {
    let price = request.price(generations.settings.config.batches.price_factor);
    price.map_err(price_overflow)
}

fn price_overflow(error: AmountError) -> Error {
    Error::field("requests", format!("the sum of their prices {error}"))
}

fn is_too_large(entry: &BatchEntry) -> bool {
    request_text::are_too_large(&entry.urls, &entry.text)
}

/// Returns the job of an entry with its stored objects, also after an error.
async fn prepare_job(
    generations: &GenerationService,
    entry: BatchEntry,
) -> (CallObjects, Result<NewBatchJob, Error>) {
    let mut objects = CallObjects::default();
    let job = store_job(generations, entry, &mut objects).await;
    (objects, job)
}

async fn store_job(
    generations: &GenerationService,
    entry: BatchEntry,
    objects: &mut CallObjects,
) -> Result<NewBatchJob, Error> {
    let price = batch_request::price(
        entry.offer,
        generations.settings.config.batches.price_factor,
    );
    let prompt = objects.store_prompt(generations, entry.text).await?;
    let input_urls = objects.input_urls(generations, entry.urls, &prompt).await?;
    let offered = &generations
        .settings
        .catalog
        .tier(entry.offer.tier())
        .aspect_ratios;
    // The fetch of the inputs replaces the ratio.
    let of_input = (entry.mode == Mode::ImageToImage).then(|| square_or_first(offered));
    let (aspect, ratio) = entry.shape.choose(offered, of_input)?;
    Ok(NewBatchJob {
        custom_id: entry.custom_id,
        tier: entry.offer.tier(),
        mode: entry.mode,
        aspect,
        ratio,
        resolution: entry.offer.resolution(),
        prompt,
        price: price.map_err(price_overflow)?,
        options: entry.options,
        input_urls,
    })
}
