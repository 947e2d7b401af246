//! A call from its accepted request to its terminal job: the same holding, making and settling as for the native interface,
//! and a caller who waits.

use super::abandoned::Abandoned;
use super::orphans::Request;
use super::refusal::{Kind, Refusal};
use crate::http::rate::{self, Standing};
use crate::http::state::AppState;
use crate::http::{failures, funds, open};
use crate::inputs::{self, Held, IngestError, InputImage};
use crate::words;
use actix_web::web;
use object_store::path::Path;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tintype_actors::account::AcceptJob;
use tintype_actors::accounts::AccountHandle;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{
    self, Brief, FailureKind, Job, JobState, Origin, ResultImage, Words,
};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall, NewJob};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// A request that has been found valid.
pub struct Asked {
    /// The model.
    pub tier: Tier,
    /// What to show.
    pub prompt: String,
    /// The shape; `None` for the one nearest to the first input image, or the square.
    pub ratio: Option<AspectRatio>,
    /// The size.
    pub resolution: Resolution,
    /// Where the job begins.
    pub inputs: Vec<Input>,
    /// The caller's name for the request.
    pub name: Option<String>,
    /// Below this the objects of the call lie.
    pub prefix: Path,
}

/// An input image.
pub enum Input {
    /// It came with the request.
    Held(Box<Held>),
    /// It is to be fetched. The field is told when it cannot be.
    Url {
        /// Where from.
        url: String,
        /// Which field says so.
        field: String,
    },
}

/// How a job ended that did not fail.
pub enum Made {
    /// With a picture.
    Picture(ResultImage),
    /// Blocked for safety, for this reason.
    Blocked(String),
}

/// A caller who waits for a job. One who goes away before the job has started has it canceled.
pub struct Caller {
    state: web::Data<AppState>,
    account: AccountId,
    /// The job.
    pub job: JobId,
    /// Was it accepted by an earlier call, with the same idempotency key or one whose caller had gone?
    pub replayed: bool,
    /// Under which it is found again, where it has no idempotency key.
    request: Option<Request>,
    is_over: bool,
}

impl Asked {
    /// Equal for two requests that mean the same.
    fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        part(b"synchronous");
        part(self.tier.word().as_bytes());
        part(self.resolution.word().as_bytes());
        part(
            self.ratio
                .map(|it| it.to_string())
                .unwrap_or_default()
                .as_bytes(),
        );
        part(self.prompt.as_bytes());
        for input in &self.inputs {
            match input {
                Input::Held(held) => part(held.sha256()),
                Input::Url { url, .. } => part(url.as_bytes()),
            }
        }
        Fingerprint(hash.finalize().into())
    }
}

/// Is the model open to this key, and are there places? What is found here is found again when the request has been read:
/// this spares a caller from sending pictures for nothing.
///
/// # Errors
/// `NotAllowed`.
pub fn check_scope(key: &ApiKey, tier: Tier, model: &str) -> Result<(), Refusal> {
    if key.allows(tier) {
        return Ok(());
    }
    let message = format!("this API key lacks permission for the model {model}");
    Err(Refusal::new(Kind::NotAllowed, message))
}

/// Has a request accepted as a job, or finds the job of its first use.
///
/// # Errors
/// Whatever stands against it; then nothing is kept of it and nothing held.
pub async fn accept(
    state: &web::Data<AppState>,
    key: &Arc<ApiKey>,
    standing: Option<Standing>,
    asked: Asked,
) -> Result<Caller, Refusal> {
    let fingerprint = asked.fingerprint();
    let used = asked
        .name
        .clone()
        .map(|name| IdempotencyUse { name, fingerprint });
    let request = used.is_none().then_some(Request {
        key: key.id,
        fingerprint,
    });
    if let Some(used) = &used
        && let Some(first) = state.store.idempotency(
            IdempotentCall::Generation,
            key.account,
            &used.name,
            state.now(),
        )?
    {
        return if first.fingerprint == used.fingerprint {
            Ok(Caller::new(state, key.account, JobId(first.made), true))
        } else {
            Err(AcceptError::KeyReused.into())
        };
    }
    if let Some(caller) = returned(state, key, request)? {
        return Ok(caller);
    }
    open::check(state, asked.tier)?;
    rate::admit(standing)?;
    let account = state.system.accounts().get(key.account)?.ok_or_else(|| {
        let message = "API key not valid: its account no longer exists";
        Refusal::new(Kind::InvalidKey, message)
    })?;
    let most = state.config.jobs.max_live_per_account as usize;
    if account.live_jobs() >= most {
        return Err(AcceptError::TooManyLive(account.live_jobs()).into());
    }
    let price = state
        .catalog
        .price(asked.tier, asked.resolution)
        .unwrap_or_default();
    funds::check(state, key, price).await?;
    let call = Call {
        state: state.clone(),
        key: Arc::clone(key),
        account,
        price,
        used,
        request,
    };
    // Apart from this request's own life: a caller that goes away must leave no objects behind, and no job unnoticed.
    let apart = actix_web::rt::spawn(call.accept(asked));
    apart.await.map_err(|_| {
        let message = "the request could not be accepted; try again";
        Refusal::new(Kind::Internal, message)
    })?
}

/// A call that has passed its checks.
struct Call {
    state: web::Data<AppState>,
    key: Arc<ApiKey>,
    account: AccountHandle,
    price: Amount,
    used: Option<IdempotencyUse>,
    request: Option<Request>,
}

/// One who went away while this very request was being made, and has come back.
fn returned(
    state: &web::Data<AppState>,
    key: &ApiKey,
    request: Option<Request>,
) -> Result<Option<Caller>, Refusal> {
    let Some(request) = request else {
        return Ok(None);
    };
    while let Some(id) = state.orphans.take(request, state.now()) {
        let job = state.store.job(key.account, id)?;
        // One that is canceled, or about to be, is of no use; one that failed is tried anew.
        let goes_on = job.is_some_and(|job| {
            matches!(
                job.state,
                JobState::Processing { .. } | JobState::Done { .. }
            )
        });
        if goes_on {
            let mut caller = Caller::new(state, key.account, id, true);
            caller.request = Some(request);
            return Ok(Some(caller));
        }
    }
    Ok(None)
}

impl Call {
    async fn accept(self, asked: Asked) -> Result<Caller, Refusal> {
        let mut inputs = gather(&self.state, &asked.prefix, asked.inputs).await?;
        let words = Words {
            prompt: asked.prompt,
            metadata: None,
        };
        let mode = if inputs.is_empty() {
            Mode::TextToImage
        } else {
            Mode::ImageToImage
        };
        let offered = &self.state.catalog.offer(asked.tier).aspect_ratios;
        let nearest = || {
            let first = inputs.first()?.image();
            AspectRatio::nearest(offered, first.width, first.height)
        };
        let square = || {
            let square = offered.contains(&AspectRatio::SQUARE);
            let any = offered.first().copied().unwrap_or(AspectRatio::SQUARE);
            if square { AspectRatio::SQUARE } else { any }
        };
        let ratio = asked.ratio.or_else(nearest).unwrap_or_else(square);
        let brief = self.brief(words).await?;
        let stored = match &brief {
            Brief::Stored(key) => Some(key.clone()),
            Brief::Inline(_) => None,
        };
        let new = NewJob {
            key: self.key.id,
            spend_limit: self.key.spend_limit,
            tier: asked.tier,
            mode,
            aspect: if asked.ratio.is_none() && mode == Mode::ImageToImage {
                AspectChoice::Auto
            } else {
                AspectChoice::Fixed(ratio)
            },
            ratio,
            resolution: asked.resolution,
            brief,
            callback: None,
            origin: Origin::Synchronous,
            inputs: inputs.iter().map(|it| input_of(it.image())).collect(),
            price: self.price,
            idempotency: self.used.clone(),
        };
        let outcome = self.reserve(new).await;
        match &outcome {
            Ok(caller) if !caller.replayed => inputs.drain(..).for_each(Gathered::keep),
            // After a storage failure nobody knows whether the job is on the disk; if it is, it needs its material.
            Err(_) if self.state.fail_stop.has_tripped() => {
                inputs.drain(..).for_each(Gathered::keep);
            }
            _ => self.discard(inputs, stored).await,
        }
        outcome
    }

    async fn brief(&self, words: Words) -> Result<Brief, Refusal> {
        if !words::is_too_large(&words) {
            return Ok(Brief::Inline(words));
        }
        let stored = words::store(&self.state.images, &words).await;
        stored.map(Brief::Stored).map_err(|error| {
            tracing::error!(%error, "words could not be stored");
            let message = "the request could not be stored; try again";
            Refusal::new(Kind::Unavailable, message)
        })
    }

    async fn reserve(&self, new: NewJob) -> Result<Caller, Refusal> {
        let (reply, answer) = oneshot::channel();
        let command = AcceptJob {
            job: Box::new(new),
            reply,
        };
        self.account.accept(command).map_err(|_| failures::busy())?;
        let accepted = match answer.await {
            Ok(outcome) => outcome?,
            Err(_) if self.state.fail_stop.has_tripped() => return Err(failures::stopping().into()),
            Err(_) => return Err(failures::busy().into()),
        };
        let mut caller = Caller::new(
            &self.state,
            self.key.account,
            accepted.job,
            accepted.replayed,
        );
        caller.request = self.request;
        Ok(caller)
    }

    async fn discard(&self, inputs: Vec<Gathered>, words: Option<String>) {
        for input in inputs {
            if let Gathered::Fetched(image) = input {
                inputs::discard(self.state.images.store().as_ref(), &[image]).await;
            }
        }
        if let Some(key) = words
            && let Err(error) = self.state.images.delete(&key).await
        {
            tracing::warn!(%key, %error, "an object of a refused call could not be removed");
        }
    }
}

/// An input in the object store.
enum Gathered {
    Held(Box<Held>),
    Fetched(InputImage),
}

impl Gathered {
    fn image(&self) -> &InputImage {
        match self {
            Self::Held(held) => held.image(),
            Self::Fetched(image) => image,
        }
    }

    fn keep(self) {
        if let Self::Held(held) = self {
            held.keep();
        }
    }
}

/// Fetches what is to be fetched; all inputs in their order.
async fn gather(
    state: &AppState,
    prefix: &Path,
    inputs: Vec<Input>,
) -> Result<Vec<Gathered>, Refusal> {
    let (mut urls, mut fields, mut held_bytes) = (Vec::new(), Vec::new(), 0);
    for input in &inputs {
        match input {
            Input::Held(held) => held_bytes += held.image().bytes,
            Input::Url { url, field } => {
                urls.push(url.clone());
                fields.push(field.as_str());
            }
        }
    }
    let mut limits = state.input_limits();
    let most = limits.max_total_bytes;
    if held_bytes > most {
        return Err(Refusal::body(format!(
            "the input images must not exceed {most} bytes over all"
        )));
    }
    limits.max_total_bytes = most - held_bytes;
    let mut fetched = Vec::new();
    if !urls.is_empty() {
        let store = state.images.store();
        let outcome = inputs::ingest(&state.egress, store, prefix, &urls, &limits).await;
        fetched = outcome.map_err(|error| refused_fetch(error, &fields))?;
    }
    let mut fetched = fetched.into_iter();
    let in_order = inputs.into_iter().filter_map(|input| match input {
        Input::Held(held) => Some(Gathered::Held(held)),
        Input::Url { .. } => fetched.next().map(Gathered::Fetched),
    });
    Ok(in_order.collect())
}

/// The first fault, under the name that the field has here.
fn refused_fetch(error: IngestError, fields: &[&str]) -> Refusal {
    match error {
        IngestError::Invalid(faults) => {
            let Some((name, message)) = faults.into_iter().next() else {
                return Refusal::body("an input image could not be fetched");
            };
            let entry = (0..fields.len()).find(|at| name == format!("{}[{at}]", inputs::FIELD));
            match entry {
                Some(at) => Refusal::field(fields[at], message),
                None => Refusal::body(format!("the input images {message}")),
            }
        }
        IngestError::Store(fault) => {
            tracing::error!(error = %fault, "input images could not be stored");
            let message = "the input images could not be stored; try again";
            Refusal::new(Kind::Unavailable, message)
        }
    }
}

fn input_of(image: &InputImage) -> job::InputImage {
    job::InputImage {
        key: image.key.clone(),
        bytes: image.bytes,
        width: image.width,
        height: image.height,
    }
}

impl Caller {
    fn new(state: &web::Data<AppState>, account: AccountId, job: JobId, replayed: bool) -> Self {
        Self {
            state: state.clone(),
            account,
            job,
            replayed,
            request: None,
            is_over: false,
        }
    }

    /// Waits until the job is over, at most until `until`.
    ///
    /// # Errors
    /// `Deadline` when it is not over by then: a job that has not started is canceled, another goes on. `Unavailable` when
    /// the service stops. And what the job failed of.
    pub async fn wait(&mut self, until: Instant) -> Result<Made, Refusal> {
        let state = self.state.clone();
        let mut stopping = state.stopping.subscribe();
        let ended = state.system.ended(self.account, self.job);
        tokio::pin!(ended);
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                ended = &mut ended => break ended?,
                _ = state.fail_stop.tripped() => return Err(failures::stopping().into()),
                () = sleep_until(until) => return Err(self.late()),
                // The sender lives as long as the state does.
                _ = stopping.wait_for(|it| *it), if !is_stopping => {
                    is_stopping = true;
                    if self.is_queued()? {
                        let message = "the service is stopping; send the request again in a moment";
                        return Err(Refusal::new(Kind::Unavailable, message));
                    }
                }
            }
        };
        self.is_over = true;
        match ended {
            Some(job) => outcome(job),
            None => Err(Refusal::new(Kind::Internal, "the job is gone")),
        }
    }

    fn is_queued(&self) -> Result<bool, Refusal> {
        let job = self.state.store.job(self.account, self.job)?;
        Ok(job.is_some_and(|job| job.state == JobState::Queued))
    }

    fn late(&self) -> Refusal {
        let message = match self.is_queued() {
            Ok(true) => {
                "the job had not started in time and was canceled; nothing was charged".into()
            }
            _ => format!(
                "no picture was made in time; the job goes on, look it up at /api/v1/jobs/{}",
                self.job
            ),
        };
        Refusal::new(Kind::Deadline, message)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if !self.is_over {
            if let Some(request) = self.request {
                let orphans = &self.state.orphans;
                orphans.leave(request, self.job, self.state.now());
            }
            self.state.abandoned.tell(Abandoned {
                account: self.account,
                job: self.job,
            });
        }
    }
}

fn outcome(job: Job) -> Result<Made, Refusal> {
    match job.state {
        JobState::Done { image, .. } => Ok(Made::Picture(image)),
        JobState::Failed { error, kind, .. } => Err(Refusal::new(
            match kind {
                FailureKind::Blocked => return Ok(Made::Blocked(error)),
                FailureKind::Refused => Kind::Invalid,
                FailureKind::Unavailable => Kind::Unavailable,
                FailureKind::TimedOut => Kind::Deadline,
                FailureKind::Canceled => Kind::Canceled,
                FailureKind::Broken | FailureKind::Interrupted | FailureKind::Unrecorded => {
                    Kind::Internal
                }
            },
            error,
        )),
        JobState::Queued | JobState::Processing { .. } => {
            Err(Refusal::new(Kind::Internal, "the job is not over"))
        }
    }
}
