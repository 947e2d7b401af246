//! Has a generation accepted as a job: the one way for every interface. The published order of checks stands here:
//!
//! 1. the interface has authenticated the caller (401); [`begin`]: the key's scope (403), and load shedding (503), which must cost
//!    little and so comes before the body is parsed;
//! 2. the interface parses the body (422);
//! 3. an idempotency key that was used before (the first job, or 422);
//! 4. pauses and the full queue (503), the rates and the live jobs of the key and the account (429), `callback_url` (422);
//! 5. the rate of calls with input images (429), balance and spend limits (402), looked at before anything is fetched or stored for the
//!    call;
//! 6. the input images (422, 502, 503);
//! 7. the account's decision, which judges key, account, pauses and money again and reserves the price.

use super::admission::{Admitted, Asked, decided};
use super::audit_context::{AuditContext, Subject, note_of_new};
use super::balance_check;
use super::commit::detached;
use super::error::{self, Error, ErrorKind};
use super::generation_request::{GenerationRequest, Input, Shape, square_or_first};
use super::idempotency;
use super::input_ingestion::Objects;
use super::load_shedding;
use super::payer::Payer;
use super::state::AppState;
use crate::request_text;
use serde_json::json;
use std::future;
use std::ops::ControlFlow;
use std::sync::Arc;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::audit_log::{Action, Note};
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Callback, PromptText};
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::store::{Accepted, IdempotencyUse, IdempotentCall, NewJob};
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::time::{Instant, sleep_until};

const CALL: IdempotentCall = IdempotentCall::Generation;

/// Refuses a caller whose key is not scoped for the model, and a call that would only wait.
///
/// # Errors
/// `ModelNotAllowed`, `Overloaded`
pub async fn begin(state: &AppState, caller: &Payer, tier: Tier) -> Result<(), Error> {
    caller.check_scope(tier)?;
    load_shedding::check(state, caller.account()).await
}

/// Has a request accepted as a job, or finds the job of its idempotency key's first use.
///
/// # Errors
/// The first check that fails. Then nothing is kept of the call and nothing charged.
pub async fn submit_generation(
    state: &Arc<AppState>,
    caller: &Payer,
    request: GenerationRequest,
) -> Result<Accepted, Error> {
    let mut submission = match Submission::prepare(state, caller, request).await? {
        ControlFlow::Break(job) => return Ok(job),
        ControlFlow::Continue(submission) => submission,
    };
    if !submission.needs_objects() {
        return submission.accept().await;
    }
    submission.check_costs().await?;
    let _waits = submission.watch(None);
    // Detached: a caller that leaves must leave no objects behind.
    detached(submission.accept()).await
}

/// The same for a caller who waits for the picture until `until`. `then` makes of the accepted job what watches over it; that is
/// dropped at once if the caller has left.
///
/// # Errors
/// The same; and the time is up before the job is accepted.
pub async fn submit_and_watch<T: 'static>(
    state: &Arc<AppState>,
    caller: &Payer,
    request: GenerationRequest,
    until: Instant,
    then: impl FnOnce(Accepted) -> T + 'static,
) -> Result<T, Error> {
    let mut submission = match Submission::prepare(state, caller, request).await? {
        ControlFlow::Break(job) => return Ok(then(job)),
        ControlFlow::Continue(submission) => submission,
    };
    if submission.needs_objects() {
        submission.check_costs().await?;
    }
    let _waits = submission.watch(Some(until));
    detached(async move { submission.accept().await.map(then) }).await
}

/// Checks whether so many new pictures of this kind can be had, before the first of them is submitted.
///
/// # Errors
/// The first check that fails.
pub async fn check_pictures(
    state: &Arc<AppState>,
    caller: &Payer,
    request: &GenerationRequest,
    count: usize,
) -> Result<(), Error> {
    Admitted::of(state, caller, &asked(request)).await?;
    let price = request.offer.price();
    let total = (0..count).fold(Amount::ZERO, |total, _| total.plus(price).unwrap_or(total));
    balance_check::check(state, &caller.key, total).await
}

/// What a job would be.
pub struct Estimate {
    pub offer: Offer,
    pub mode: Mode,
    pub ratio: AspectRatio,
    /// What the account could spend now.
    pub available: Amount,
}

/// Makes every check of a submission, fetches its inputs, and keeps nothing. An idempotency key is neither used nor answered.
///
/// # Errors
/// The first check that fails.
pub async fn estimate_generation(
    state: &Arc<AppState>,
    caller: &Payer,
    request: GenerationRequest,
) -> Result<Estimate, Error> {
    let request = GenerationRequest {
        idempotency_key: None,
        ..request
    };
    let mut submission = match Submission::prepare(state, caller, request).await? {
        ControlFlow::Continue(submission) => submission,
        ControlFlow::Break(_) => return Err(error::internal()),
    };
    submission.check_costs().await?;
    let _waits = submission.watch(None);
    detached(submission.estimate()).await
}

/// Someone waits for the answer to a submission.
struct Watched {
    /// `None`: they have set no time.
    until: Option<Instant>,
    /// Closed once the caller has gone. Nothing is ever sent.
    gone: oneshot::Receiver<()>,
}

impl Watched {
    /// Ends when the time is up or the caller has gone.
    async fn ended(&mut self) -> Error {
        let until = self.until;
        let time_is_up = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => future::pending().await,
            }
        };
        tokio::select! {
            () = time_is_up => late(),
            _ = &mut self.gone => left(),
        }
    }

    fn check(&mut self) -> Result<(), Error> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(late());
        }
        match self.gone.try_recv() {
            Err(TryRecvError::Empty) => Ok(()),
            Ok(()) | Err(TryRecvError::Closed) => Err(left()),
        }
    }
}

fn late() -> Error {
    let detail = "the input images were not there in time; nothing was begun and nothing charged";
    Error::new(ErrorKind::DeadlineExceeded, detail)
}

/// Heard by nobody.
fn left() -> Error {
    Error::new(ErrorKind::Canceled, "the caller has gone away")
}

/// What one picture of a request asks for.
fn asked(request: &GenerationRequest) -> Asked<'_> {
    Asked {
        models: vec![request.offer.tier()],
        jobs: 1,
        callback_url: request.callback_url.as_deref(),
    }
}

/// A request that has passed the checks that cost nothing.
struct Submission {
    state: Arc<AppState>,
    caller: Payer,
    /// All but its text and its idempotency key.
    request: GenerationRequest,
    text: PromptText,
    used: Option<IdempotencyUse>,
    account: AccountHandle,
    callback: Option<Callback>,
    watched: Option<Watched>,
}

impl Submission {
    /// Breaks with the job of the first call where this one repeats it.
    async fn prepare(
        state: &Arc<AppState>,
        caller: &Payer,
        mut request: GenerationRequest,
    ) -> Result<ControlFlow<Accepted, Self>, Error> {
        let used = request.idempotency();
        let text = request.take_text();
        let needs_objects = !request.inputs.is_empty() || request_text::is_too_large(&text);
        let admitted = Admitted::of(state, caller, &asked(&request)).await;
        // The account's decision knows an idempotency key that was used before. It is looked up here as well where the decision
        // would not be asked, or only after the call has cost something.
        if let Some(used) = &used
            && (admitted.is_err() || needs_objects)
            && let Some(first) = idempotency::first_use(state, CALL, caller.account(), used).await?
        {
            state.system.stats().jobs.replayed();
            return Ok(ControlFlow::Break(Accepted {
                job: JobId(first),
                replayed: true,
            }));
        }
        let Admitted { account, callback } = admitted?;
        Ok(ControlFlow::Continue(Self {
            state: Arc::clone(state),
            caller: caller.clone(),
            request,
            text,
            used,
            account,
            callback,
            watched: None,
        }))
    }

    fn needs_objects(&self) -> bool {
        !self.request.inputs.is_empty() || request_text::is_too_large(&self.text)
    }

    /// Ends what is fetched for the submission at this time, or as soon as what is returned is dropped.
    fn watch(&mut self, until: Option<Instant>) -> oneshot::Sender<()> {
        let (waits, gone) = oneshot::channel();
        self.watched = Some(Watched { until, gone });
        waits
    }

    /// Step 5.
    async fn check_costs(&self) -> Result<(), Error> {
        let inputs = &self.request.inputs;
        if !inputs.is_empty() {
            let are_fetched = inputs.iter().any(|it| matches!(it, Input::Url { .. }));
            let limits = &self.state.limits;
            limits.admit_inputs(&self.caller.key, are_fetched)?;
        }
        balance_check::check(&self.state, &self.caller.key, self.request.offer.price()).await
    }

    async fn accept(mut self) -> Result<Accepted, Error> {
        let state = Arc::clone(&self.state);
        let mut objects = self.ingest().await?;
        let outcome = self.reserve(&mut objects).await;
        objects.settle(&state, &outcome, |it| !it.replayed).await;
        outcome
    }

    /// Fetches the inputs while the caller waits for them.
    async fn ingest(&mut self) -> Result<Objects, Error> {
        let inputs = std::mem::take(&mut self.request.inputs);
        if inputs.is_empty() {
            return Ok(Objects::default());
        }
        let (account, origin) = (self.caller.account(), self.request.origin.clone());
        let watched = &mut self.watched;
        let ended = async {
            match watched {
                Some(watched) => watched.ended().await,
                None => future::pending().await,
            }
        };
        tokio::select! {
            objects = Objects::ingest(&self.state, account, inputs, origin) => objects,
            error = ended => Err(error),
        }
    }

    async fn reserve(&mut self, objects: &mut Objects) -> Result<Accepted, Error> {
        let job = self.new_job(objects).await?;
        if let Some(watched) = &mut self.watched {
            watched.check()?;
        }
        let note = self
            .caller
            .audit
            .as_ref()
            .map(|audit| self.note(audit, &job));
        let (reply, answer) = oneshot::channel();
        let _counted = self
            .account
            .accept(job, note, reply)
            .map_err(|_| error::busy())?;
        decided(&self.state, answer).await
    }

    async fn estimate(mut self) -> Result<Estimate, Error> {
        let state = Arc::clone(&self.state);
        let mut objects = self.ingest().await?;
        let job = self.new_job(&mut objects).await;
        objects.discard(&state).await;
        let job = job?;
        let account = state.store.account(self.caller.account()).await?;
        let available = account.map(|it| it.balances.available());
        Ok(Estimate {
            offer: self.request.offer,
            mode: job.mode,
            ratio: job.ratio,
            available: available.unwrap_or_default(),
        })
    }

    /// The job to be reserved; it takes the text along.
    async fn new_job(&mut self, objects: &mut Objects) -> Result<NewJob, Error> {
        let (aspect, ratio) = self.shape(objects)?;
        let text = std::mem::take(&mut self.text);
        let prompt = objects.store_prompt(&self.state, text).await?;
        let inputs = objects.records();
        let offer = self.request.offer;
        Ok(NewJob {
            key: self.caller.key.id,
            shown: self.caller.shown,
            account_rate_limit: self.caller.counted.account.map(|it| it.rate()),
            tier: offer.tier(),
            mode: match inputs.is_empty() {
                true => Mode::TextToImage,
                false => Mode::ImageToImage,
            },
            aspect,
            ratio,
            resolution: offer.resolution(),
            prompt,
            callback: self.callback.take(),
            origin: self.request.origin.clone(),
            inputs,
            price: offer.price(),
            cancel_after: self.request.cancel_after,
            idempotency: self.used.take(),
        })
    }

    /// The shape that was asked for, and the one to make.
    fn shape(&self, objects: &Objects) -> Result<(AspectChoice, AspectRatio), Error> {
        let offered = &self
            .state
            .catalog
            .tier(self.request.offer.tier())
            .aspect_ratios;
        let first = objects.first_size();
        let nearest =
            first.and_then(|(width, height)| AspectRatio::nearest(offered, width, height));
        match (self.request.shape, nearest) {
            (Shape::Fixed(ratio), _) => Ok((AspectChoice::Fixed(ratio), ratio)),
            (Shape::OfInput | Shape::OfInputOrSquare, Some(ratio)) => {
                Ok((AspectChoice::Auto, ratio))
            }
            (Shape::OfInput, None) => Err(Error::field(
                "aspect_ratio",
                "`auto` needs an input image with a size",
            )),
            (Shape::OfInputOrSquare, None) => {
                let ratio = square_or_first(offered);
                Ok((AspectChoice::Fixed(ratio), ratio))
            }
        }
    }

    /// The line of the audit log about the job.
    fn note(&self, audit: &AuditContext, job: &NewJob) -> Note<JobId> {
        let subject = Subject {
            account: Some(self.caller.account()),
            id: None,
        };
        let line = audit.line(&self.state, Action::JobCreate, subject);
        let facts = json!({
            "key_id": job.key.to_string(),
            "tier": job.tier.word(),
            "mode": job.mode.word(),
            "resolution": job.resolution.word(),
            "price": job.price.to_string(),
        });
        note_of_new(line, facts)
    }
}
