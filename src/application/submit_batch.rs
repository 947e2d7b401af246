//! Has a batch accepted, whole or not at all. The order of checks is that of [`super::submit_generation`]; its input images are
//! fetched later, each when the turn of its job has come.

use super::admission::{Admitted, Asked, decided};
use super::audit_context::{AuditContext, Subject, note_of_new};
use super::balance_check;
use super::batch_request::{self, BatchEntry, BatchRequest};
use super::commit::detached;
use super::error::{self, Error};
use super::generation_request::{Input, Shape, square_or_first};
use super::idempotency;
use super::input_ingestion::Objects;
use super::load_shedding;
use super::payer::Payer;
use super::state::AppState;
use crate::request_text;
use futures_util::future::join_all;
use serde_json::json;
use std::ops::ControlFlow;
use std::sync::Arc;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::amount::{Amount, AmountError};
use tintype_storage::domain::aspect_ratio::AspectChoice;
use tintype_storage::domain::audit_log::{Action, Note};
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::ids::BatchId;
use tintype_storage::domain::job::{Callback, PromptText};
use tintype_storage::domain::json::Json;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::store::{
    AcceptedBatch, BatchRequest as AskedJob, IdempotencyUse, IdempotentCall, NewBatch,
};
use tokio::sync::oneshot;

/// Requests whose texts are stored side by side.
const STORED_AT_A_TIME: usize = 32;

/// Refuses a call that would only wait, before its body is read.
///
/// # Errors
/// `Overloaded`
pub async fn begin(state: &AppState, caller: &Payer) -> Result<(), Error> {
    load_shedding::check(state, caller.account()).await
}

/// Refuses a caller whose key is not scoped for one of the models.
///
/// # Errors
/// `ModelNotAllowed`
pub fn check_scope(caller: &Payer, models: &[Tier]) -> Result<(), Error> {
    models.iter().try_for_each(|tier| caller.check_scope(*tier))
}

/// Has a batch accepted, or finds the batch of its idempotency key's first use.
///
/// # Errors
/// The first check that fails. Then nothing is kept of the call and nothing charged.
pub async fn submit_batch(
    state: &Arc<AppState>,
    caller: &Payer,
    request: BatchRequest,
) -> Result<AcceptedBatch, Error> {
    let submission = match Submission::prepare(state, caller, request).await? {
        ControlFlow::Break(batch) => return Ok(batch),
        ControlFlow::Continue(submission) => submission,
    };
    if !submission.needs_objects {
        return submission.accept().await;
    }
    submission.check_balance().await?;
    // Detached: a caller that leaves must leave no objects behind.
    detached(submission.accept()).await
}

/// What a batch would be.
pub struct BatchEstimate {
    /// The sum of the prices of its jobs.
    pub price: Amount,
    pub requests: usize,
    /// What the account could spend now.
    pub available: Amount,
}

/// Makes every check of a submission and keeps nothing. An idempotency key is neither used nor answered.
///
/// # Errors
/// The first check that fails.
pub async fn estimate_batch(
    state: &Arc<AppState>,
    caller: &Payer,
    request: BatchRequest,
) -> Result<BatchEstimate, Error> {
    let request = BatchRequest {
        idempotency_key: None,
        ..request
    };
    let submission = match Submission::prepare(state, caller, request).await? {
        ControlFlow::Continue(submission) => submission,
        ControlFlow::Break(_) => return Err(error::internal()),
    };
    submission.check_balance().await?;
    let account = state.store.account(caller.account()).await?;
    let available = account.map(|it| it.balances.available());
    Ok(BatchEstimate {
        price: submission.price,
        requests: submission.entries.len(),
        available: available.unwrap_or_default(),
    })
}

/// A batch that has passed the checks that cost nothing.
struct Submission {
    state: Arc<AppState>,
    caller: Payer,
    entries: Vec<Entry>,
    price: Amount,
    text: PromptText,
    used: Option<IdempotencyUse>,
    account: AccountHandle,
    callback: Option<Callback>,
    file: Option<FileBatchTerms>,
    /// Are some of its texts too large for their records?
    needs_objects: bool,
}

impl Submission {
    /// Breaks with the batch of the first call where this one repeats it.
    async fn prepare(
        state: &Arc<AppState>,
        caller: &Payer,
        mut request: BatchRequest,
    ) -> Result<ControlFlow<AcceptedBatch, Self>, Error> {
        let price = request.price(state.config.batches.price_factor);
        let price = price.map_err(too_dear)?;
        let used = request.idempotency();
        let asked = Asked {
            models: request.models(),
            jobs: request.entries.len(),
            callback_url: request.callback_url.as_deref(),
        };
        let admitted = Admitted::of(state, caller, &asked).await;
        let text = PromptText {
            prompt: String::new(),
            metadata: request.metadata.take().as_ref().map(Json::to_compact),
        };
        let entries: Vec<Entry> = request.entries.into_iter().map(Entry::from).collect();
        let needs_objects =
            request_text::is_too_large(&text) || entries.iter().any(Entry::is_too_large);
        // As for a single job: the decision knows a key that was used before, where it is asked at once.
        if let Some(used) = &used
            && (admitted.is_err() || needs_objects)
            && let Some(first) =
                idempotency::first_use(state, IdempotentCall::Batch, caller.account(), used).await?
        {
            state.system.stats().jobs.replayed();
            return Ok(ControlFlow::Break(AcceptedBatch {
                batch: BatchId(first),
                replayed: true,
            }));
        }
        let Admitted { account, callback } = admitted?;
        Ok(ControlFlow::Continue(Self {
            state: Arc::clone(state),
            caller: caller.clone(),
            entries,
            price,
            text,
            used,
            account,
            callback,
            file: request.file,
            needs_objects,
        }))
    }

    async fn check_balance(&self) -> Result<(), Error> {
        balance_check::check(&self.state, &self.caller.key, self.price).await
    }

    async fn accept(mut self) -> Result<AcceptedBatch, Error> {
        let state = Arc::clone(&self.state);
        let mut objects = Objects::default();
        let outcome = self.reserve(&mut objects).await;
        objects.settle(&state, &outcome, |it| !it.replayed).await;
        outcome
    }

    async fn reserve(&mut self, objects: &mut Objects) -> Result<AcceptedBatch, Error> {
        let batch = self.new_batch(objects).await?;
        let note = self.caller.audit.as_ref();
        let note = note.map(|audit| self.note(audit, &batch));
        let account = self.caller.account();
        let turns = &self.state.limits.batches;
        let _turn = turns.take_to_write(account, &self.state.store).await;
        let (reply, answer) = oneshot::channel();
        let _counted = self
            .account
            .accept_batch(batch, note, reply)
            .map_err(|_| error::busy())?;
        decided(&self.state, answer).await
    }

    /// The batch to be reserved; it takes the entries along.
    async fn new_batch(&mut self, objects: &mut Objects) -> Result<NewBatch, Error> {
        let mut entries = std::mem::take(&mut self.entries).into_iter();
        let mut requests = Vec::with_capacity(entries.len());
        loop {
            let next: Vec<Entry> = entries.by_ref().take(STORED_AT_A_TIME).collect();
            if next.is_empty() {
                break;
            }
            // All are waited for, also when one fails: none stores anything after its call has been answered.
            let made = join_all(next.into_iter().map(|it| asked_job(&self.state, it))).await;
            let mut outcomes = Vec::with_capacity(made.len());
            for (stored, outcome) in made {
                objects.absorb(stored);
                outcomes.push(outcome);
            }
            for outcome in outcomes {
                requests.push(outcome?);
            }
        }
        let text = std::mem::take(&mut self.text);
        Ok(NewBatch {
            key: self.caller.key.id,
            shown: self.caller.shown,
            account_rate_limit: self.caller.counted.account.map(|it| it.rate()),
            requests,
            price: self.price,
            text: objects.store_prompt(&self.state, text).await?,
            callback: self.callback.take(),
            idempotency: self.used.take(),
            file: self.file.take(),
        })
    }

    /// The line of the audit log about the batch.
    fn note(&self, audit: &AuditContext, batch: &NewBatch) -> Note<BatchId> {
        let subject = Subject {
            account: Some(self.caller.account()),
            id: None,
        };
        let line = audit.line(&self.state, Action::BatchCreate, subject);
        let facts = json!({
            "key_id": batch.key.to_string(),
            "requests": batch.requests.len(),
            "price": batch.price.to_string(),
        });
        note_of_new(line, facts)
    }
}

fn too_dear(error: AmountError) -> Error {
    Error::field("requests", format!("the sum of their prices {error}"))
}

/// A request, taken apart into what its record has.
struct Entry {
    custom_id: Option<String>,
    offer: Offer,
    shape: Shape,
    mode: Mode,
    text: PromptText,
    urls: Vec<String>,
}

impl From<BatchEntry> for Entry {
    fn from(mut entry: BatchEntry) -> Self {
        let mode = entry.request.mode();
        let url = |input| match input {
            Input::Url { url, .. } => Some(url),
            Input::Stored(_) => None,
        };
        Self {
            custom_id: entry.custom_id,
            offer: entry.request.offer,
            shape: entry.request.shape,
            mode,
            text: entry.request.take_text(),
            urls: entry.request.inputs.into_iter().filter_map(url).collect(),
        }
    }
}

impl Entry {
    fn is_too_large(&self) -> bool {
        request_text::are_too_large(&self.urls, &self.text)
    }
}

/// The job of an entry, and what was stored for it.
async fn asked_job(state: &AppState, entry: Entry) -> (Objects, Result<AskedJob, Error>) {
    let mut objects = Objects::default();
    let job = stored_job(state, entry, &mut objects).await;
    (objects, job)
}

async fn stored_job(
    state: &AppState,
    entry: Entry,
    objects: &mut Objects,
) -> Result<AskedJob, Error> {
    let price = batch_request::price(entry.offer, state.config.batches.price_factor);
    let prompt = objects.store_prompt(state, entry.text).await?;
    let input_urls = objects.input_urls(state, entry.urls, &prompt).await?;
    let offered = &state.catalog.tier(entry.offer.tier()).aspect_ratios;
    let (aspect, ratio) = match entry.shape {
        Shape::Fixed(ratio) => (AspectChoice::Fixed(ratio), ratio),
        Shape::OfInputOrSquare if entry.mode == Mode::TextToImage => {
            let ratio = square_or_first(offered);
            (AspectChoice::Fixed(ratio), ratio)
        }
        Shape::OfInput | Shape::OfInputOrSquare => (AspectChoice::Auto, square_or_first(offered)),
    };
    Ok(AskedJob {
        custom_id: entry.custom_id,
        tier: entry.offer.tier(),
        mode: entry.mode,
        aspect,
        ratio,
        resolution: entry.offer.resolution(),
        prompt,
        price: price.map_err(too_dear)?,
        input_urls,
    })
}
