//! Submits a generation as a job, for every interface. The published order of checks:
//!
//! 1. the interface authenticates the caller (401), checks the key's scope (403) and sheds load (503) before the body is parsed,
//!    because shedding must be cheap;
//! 2. the interface parses the body (422);
//! 3. an idempotency key that was used before (the first job, or 422);
//! 4. pauses and the full queue (503), rate limits and live jobs of the key and the account (429), `callback_url` (422);
//! 5. the rate of calls with input images (429), balance and spend limits (402), before the service fetches or stores anything;
//! 6. for a caller who waits for the image, the object store (503);
//! 7. the input images (422, 502, 503);
//! 8. the account's decision, which checks key, account, pauses and money again and reserves the price.
//!
//! [`Admission`] has steps 3 to 5. A call that neither fetches nor stores anything leaves steps 3 and 5 to the decision.

use super::admission::{Admission, AdmissionRequest, BeforeDecision, CachedPayer};
use super::call_objects::CallObjects;
use super::generation_request::{GenerationRequest, Input};
use crate::application::caller::payer::Payer;
use crate::application::core::audit_context::{AuditContext, Subject, creation_entry};
use crate::application::core::commit::detached;
use crate::application::error::{Error, ErrorKind};
use crate::application::idempotency;
use crate::application::services::GenerationService;
use crate::request_text;
use serde_json::json;
use std::convert::Infallible;
use std::future;
use std::ops::ControlFlow;
use std::sync::Arc;
use tintype_actors::account::{AccountHandle, CallerConnection};
use tintype_api::Estimate;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::audit_log::{Action, ToAuditEntry};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Origin, PromptText};
use tintype_storage::domain::tier::Mode;
use tintype_storage::store::{AcceptedJob, IdempotencyUse, NewJob};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Submits a request as a job, or returns the job of the first call with this idempotency key.
///
/// # Errors
/// The first check that fails. The service then stores and charges nothing.
pub async fn submit_generation(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: GenerationRequest,
) -> Result<AcceptedJob, Error> {
    submit(generations, payer, Draft::of(request)).await
}

/// As [`submit_generation`], for a cached key. `current` reads the key, if the request needs the current one before its decision.
///
/// # Errors
/// Those of [`submit_generation`] and of `current`; `ModelNotAllowed`
pub async fn submit_with_cached_key<E: From<Error>>(
    generations: &Arc<GenerationService>,
    payer: &CachedPayer,
    request: GenerationRequest,
    current: impl AsyncFnOnce() -> Result<Payer, E>,
) -> Result<AcceptedJob, E> {
    let draft = Draft::of(request);
    let admission = draft.admission_request();
    match Admission::by_decision(generations, payer, &admission).await? {
        Some((admission, payer)) => {
            let submission = draft.admitted(generations, payer, admission);
            Ok(submission.accept().await?)
        }
        None => {
            let current = current().await?;
            current.check_scope(draft.request.offer.tier())?;
            Ok(Box::pin(submit(generations, &current, draft)).await?)
        }
    }
}

async fn submit(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    draft: Draft,
) -> Result<AcceptedJob, Error> {
    let mut submission = match draft.admit(generations, payer).await? {
        ControlFlow::Break(job) => return Ok(job),
        ControlFlow::Continue(submission) => submission,
    };
    if !submission.needs_objects() {
        return submission.accept().await;
    }
    let _waits = submission.watch(None);
    // Detached: a caller that disconnects must leave no objects behind.
    Box::pin(detached(submission.accept())).await
}

/// Submits a request for a caller who watches the job and waits until `until`. `then` turns the accepted job into the value that watches it,
/// which is dropped at once if the caller has disconnected.
///
/// # Errors
/// Those of [`submit_generation`]; `StorageUnavailable` for a synchronous call while no image can be stored; `DeadlineExceeded` before the job is accepted.
pub async fn submit_and_watch<T: 'static>(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: GenerationRequest,
    until: Instant,
    then: impl FnOnce(AcceptedJob) -> T + 'static,
) -> Result<T, Error> {
    let is_synchronous = request.origin == Origin::Synchronous;
    let mut submission = match Draft::of(request).admit(generations, payer).await? {
        ControlFlow::Break(job) => return Ok(then(job)),
        ControlFlow::Continue(submission) => submission,
    };
    if is_synchronous && !generations.core.system.can_store_images() {
        let detail = "no image can be stored at the moment, because the object store of the service fails; nothing was charged. Try again later";
        return Err(Error::new(ErrorKind::StorageUnavailable, detail));
    }
    let _waits = submission.watch(Some(until));
    detached(async move { submission.accept().await.map(then) }).await
}

/// Checks whether the caller may submit `count` such images, before the first submission. `request` is the first one.
///
/// # Errors
/// The first check that fails.
pub async fn check_images(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: &GenerationRequest,
    count: usize,
) -> Result<(), Error> {
    let (used, price) = (request.idempotency(), request.offer.price());
    let admission = AdmissionRequest {
        jobs: count,
        price: (0..count).fold(Amount::ZERO, |total, _| total.plus(price).unwrap_or(total)),
        ..admission_request(request, used.as_ref(), true)
    };
    Admission::of(generations, payer, &admission)
        .await
        .map(drop)
}

/// Runs every check of a submission, fetches its inputs and stores nothing. Neither uses nor replays an idempotency key.
///
/// # Errors
/// The first check that fails.
pub async fn estimate_generation(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: GenerationRequest,
) -> Result<Estimate, Error> {
    let mut draft = Draft::of(request);
    let used = draft.used.take();
    idempotency::check_dry_run(&generations.core, payer, used.as_ref()).await?;
    let admission = admission_request(&draft.request, None, true);
    let admission = Admission::check(generations, payer, &admission).await?;
    let mut submission = draft.admitted(generations, payer.clone(), admission);
    let _waits = submission.watch(None);
    detached(submission.estimate()).await
}

/// A caller who waits for the response.
struct WaitingCaller {
    /// `None`: no deadline.
    until: Option<Instant>,
    connection: CallerConnection,
}

impl WaitingCaller {
    /// Waits for the deadline or the disconnect.
    async fn wait_for_end(&self) -> Error {
        let until = self.until;
        let deadline = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => future::pending().await,
            }
        };
        tokio::select! {
            () = deadline => deadline_exceeded(),
            () = self.connection.closed() => caller_gone(),
        }
    }

    fn check(&self) -> Result<(), Error> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(deadline_exceeded());
        }
        match self.connection.is_closed() {
            false => Ok(()),
            true => Err(caller_gone()),
        }
    }
}

fn deadline_exceeded() -> Error {
    let detail = "the job was not accepted in time; nothing was charged";
    Error::new(ErrorKind::DeadlineExceeded, detail)
}

/// Never sent: the connection is closed.
fn caller_gone() -> Error {
    Error::new(ErrorKind::Canceled, "the caller disconnected")
}

/// `stores_text`: does the call store its text, or is it checked as if it did?
fn admission_request<'a>(
    request: &'a GenerationRequest,
    used: Option<&'a IdempotencyUse>,
    stores_text: bool,
) -> AdmissionRequest<'a> {
    let mut inputs = request.inputs.iter();
    AdmissionRequest {
        used,
        models: vec![request.offer.tier()],
        jobs: 1,
        price: request.offer.price(),
        callback_url: request.callback_url.as_deref(),
        before_decision: match (request.inputs.is_empty(), stores_text) {
            (false, _) => BeforeDecision::Inputs {
                are_fetched: inputs.any(|it| matches!(it, Input::Url { .. })),
            },
            (true, true) => BeforeDecision::StoresText,
            (true, false) => BeforeDecision::Nothing,
        },
    }
}

/// A request with its text in the form of a record.
struct Draft {
    /// Without its text.
    request: GenerationRequest,
    text: PromptText,
    used: Option<IdempotencyUse>,
}

impl Draft {
    fn of(mut request: GenerationRequest) -> Self {
        Self {
            used: request.idempotency(),
            text: request.take_text(),
            request,
        }
    }

    fn admission_request(&self) -> AdmissionRequest<'_> {
        let stores_text = request_text::is_too_large(&self.text);
        admission_request(&self.request, self.used.as_ref(), stores_text)
    }

    /// Breaks with the job of the first call if this one is a replay.
    async fn admit(
        self,
        generations: &Arc<GenerationService>,
        payer: &Payer,
    ) -> Result<ControlFlow<AcceptedJob, Submission>, Error> {
        let admission = Admission::of(generations, payer, &self.admission_request()).await?;
        let replayed = |first| AcceptedJob {
            job: JobId(first),
            replayed: true,
        };
        Ok(admission
            .map_break(replayed)
            .map_continue(|admission| self.admitted(generations, payer.clone(), admission)))
    }

    fn admitted(
        self,
        generations: &Arc<GenerationService>,
        payer: Payer,
        admission: Admission,
    ) -> Submission {
        Submission {
            generations: Arc::clone(generations),
            payer,
            draft: self,
            admission,
            waiting_caller: None,
        }
    }
}

/// A request that has passed the cheap checks.
struct Submission {
    generations: Arc<GenerationService>,
    payer: Payer,
    draft: Draft,
    admission: Admission,
    waiting_caller: Option<WaitingCaller>,
}

impl Submission {
    fn needs_objects(&self) -> bool {
        !self.draft.request.inputs.is_empty() || request_text::is_too_large(&self.draft.text)
    }

    /// Aborts the fetch of inputs at `until`. As soon as the returned value is dropped, also refuses a job that is not decided yet.
    fn watch(&mut self, until: Option<Instant>) -> mpsc::Receiver<Infallible> {
        let (connection, waits) = mpsc::channel(1);
        self.waiting_caller = Some(WaitingCaller { until, connection });
        waits
    }

    async fn accept(mut self) -> Result<AcceptedJob, Error> {
        let generations = Arc::clone(&self.generations);
        let mut objects = self.ingest().await?;
        let outcome = self.reserve(&mut objects).await;
        objects
            .settle(&generations, &outcome, |it| !it.replayed)
            .await;
        outcome
    }

    /// Fetches the inputs while the caller waits.
    async fn ingest(&mut self) -> Result<CallObjects, Error> {
        let inputs = std::mem::take(&mut self.draft.request.inputs);
        if inputs.is_empty() {
            return Ok(CallObjects::default());
        }
        let account = self.payer.account();
        let has_mask = self.draft.request.options.has_mask;
        let waiting_caller = &self.waiting_caller;
        let ended = async {
            match waiting_caller {
                Some(waiting_caller) => waiting_caller.wait_for_end().await,
                None => future::pending().await,
            }
        };
        let ingest = CallObjects::ingest(&self.generations, account, inputs, has_mask);
        let ingest = Box::pin(async {
            tokio::select! {
                objects = ingest => objects,
                error = ended => Err(error),
            }
        });
        ingest.await
    }

    async fn reserve(&mut self, objects: &mut CallObjects) -> Result<AcceptedJob, Error> {
        let job = self.new_job(objects).await?;
        if let Some(waiting_caller) = &self.waiting_caller {
            waiting_caller.check()?;
        }
        let audit = self.payer.audit.as_ref();
        let to_entry = audit.map(|audit| self.to_entry(audit, &job));
        let connection = self.waiting_caller.as_ref().map(|it| it.connection.clone());
        let send = |account: &AccountHandle, reply| account.accept(job, to_entry, reply);
        let (core, payer) = (&self.generations.core, &self.payer);
        self.admission.reserve(core, payer, connection, send).await
    }

    async fn estimate(mut self) -> Result<Estimate, Error> {
        let generations = Arc::clone(&self.generations);
        let mut objects = self.ingest().await?;
        let job = self.new_job(&mut objects).await;
        objects.discard(&generations).await;
        let job = job?;
        let account = generations.core.store.account(self.payer.account()).await?;
        let available = account.map(|it| it.balances.available());
        Ok(Estimate {
            price: job.price.into(),
            tier: job.tier.as_str().into(),
            mode: job.mode.as_str().into(),
            aspect_ratio: job.ratio.as_str().into(),
            resolution: job.resolution.as_str().into(),
            available: available.unwrap_or_default().into(),
        })
    }

    /// Builds the job record and takes the text.
    async fn new_job(&mut self, objects: &mut CallObjects) -> Result<NewJob, Error> {
        let offered = &self.generations.settings.catalog;
        let offered = offered.tier(self.draft.request.offer.tier());
        let of_input = objects
            .first_size()
            .and_then(|size| offered.nearest_ratio(size));
        let shape = self.draft.request.shape;
        let (aspect, ratio) = shape.choose(&offered.aspect_ratios, of_input)?;
        let text = std::mem::take(&mut self.draft.text);
        let prompt = objects.store_prompt(&self.generations, text).await?;
        let inputs = objects.records();
        let offer = self.draft.request.offer;
        Ok(NewJob {
            key: self.payer.key.id,
            shown: self.payer.shown,
            account_rate_limit: self.payer.counted.account.map(|it| it.rate),
            tier: offer.tier(),
            mode: match inputs.is_empty() {
                true => Mode::TextToImage,
                false => Mode::ImageToImage,
            },
            aspect,
            ratio,
            resolution: offer.resolution(),
            prompt,
            callback: self.admission.callback.take(),
            origin: self.draft.request.origin.clone(),
            inputs,
            price: offer.price(),
            options: self.draft.request.options,
            cancel_after: self.draft.request.cancel_after,
            idempotency: self.draft.used.take(),
        })
    }

    fn to_entry(&self, audit: &AuditContext, job: &NewJob) -> ToAuditEntry<JobId> {
        let subject = Subject::of_account(self.payer.account());
        let entry = audit.entry(&self.generations.core, Action::JobCreate, subject);
        let facts = json!({
            "key_id": job.key.to_string(),
            "tier": job.tier.as_str(),
            "mode": job.mode.as_str(),
            "resolution": job.resolution.as_str(),
            "price": job.price.to_string(),
        });
        creation_entry(entry, facts)
    }
}
