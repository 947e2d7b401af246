//! A call from its valid request to its accepted job: the same checks, holding and settling as for the native interface.

use super::caller::Caller;
use super::gathering::{Gathered, gather, input_of};
use super::orphans::Request;
use super::refusal::{Kind, Refusal};
use crate::application::rate_limit;
use crate::application::state::AppState;
use crate::compat::state::CompatState;
use crate::http::{acceptance, crowd, funds, open};
use crate::inputs::{self, Held};
use crate::request_text;
use crate::web::admission::Admitted;
use actix_web::web;
use object_store::path::Path;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::caller::ShownKey;
use tintype_storage::domain::job::{Brief, JobState, Origin, Words};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::store::{IdempotencyUse, NewJob};
use tokio::sync::oneshot::{self, error::TryRecvError};
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
    /// How many pictures the call asks for; each of them is a request of its own.
    pub of: usize,
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
        if self.of > 1 {
            part(&self.of.to_be_bytes());
        }
        Fingerprint(hash.finalize().into())
    }

    fn idempotency(&self) -> Option<IdempotencyUse> {
        let name = self.name.clone()?;
        let fingerprint = self.fingerprint();
        Some(IdempotencyUse { name, fingerprint })
    }

    /// What finds the request again where it has no name.
    fn request(&self, key: &ApiKey) -> Option<Request> {
        self.name.is_none().then(|| Request {
            key: key.id,
            fingerprint: self.fingerprint(),
        })
    }
}

/// Is the model open to this key?
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
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    asked: Asked,
    until: Instant,
) -> Result<Caller, Refusal> {
    if let Some(caller) = earlier(state, &admitted.key, &asked)? {
        return Ok(caller);
    }
    check(state, admitted, &asked, 1).await?;
    begin(state, admitted, asked, until).await
}

/// The caller for whom a job is there already: by its idempotency key; or because one who went away while this very request
/// was being made has come back.
///
/// # Errors
/// The idempotency key stands for another request.
pub fn earlier(
    state: &web::Data<CompatState>,
    key: &ApiKey,
    asked: &Asked,
) -> Result<Option<Caller>, Refusal> {
    let caller = |job| Caller::new(state, key.account, job, true);
    if let Some(used) = asked.idempotency() {
        let first = acceptance::first_use(state, key.account, &used)?;
        return Ok(first.map(caller));
    }
    let Some(request) = asked.request(key) else {
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
            let mut caller = caller(id);
            caller.request = Some(request);
            return Ok(Some(caller));
        }
    }
    Ok(None)
}

/// Whether so many new jobs of this kind can be had: what stands against them, in the published order.
///
/// # Errors
/// The first of it.
pub async fn check(
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    asked: &Asked,
    count: usize,
) -> Result<(), Refusal> {
    let key = &admitted.key;
    open::check(state, asked.tier)?;
    crowd::check(state, key.account).await?;
    rate_limit::admit(admitted.standing)?;
    acceptance::check_places(state, &account_of(state, key)?)?;
    let price = price(state, asked);
    let mut total = Amount::ZERO;
    for _ in 0..count {
        total = total.plus(price).unwrap_or(total);
    }
    Ok(funds::check(&state.app, key, total).await?)
}

/// Has a request accepted as a new job; its checks have been made.
///
/// # Errors
/// It is not accepted after all, or an input is not to be had.
pub async fn begin(
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    asked: Asked,
    until: Instant,
) -> Result<Caller, Refusal> {
    let key = &admitted.key;
    let (waits, gone) = oneshot::channel();
    let call = Call {
        state: state.clone(),
        key: Arc::clone(key),
        shown: admitted.shown,
        account: account_of(state, key)?,
        price: price(state, &asked),
        used: asked.idempotency(),
        request: asked.request(key),
        gone,
        until,
    };
    // Apart from this request's own life: a caller that goes away must leave no objects behind, and no job unnoticed.
    let apart = actix_web::rt::spawn(call.accept(asked));
    let outcome = apart.await.map_err(|_| {
        let message = "the request could not be accepted; try again";
        Refusal::new(Kind::Internal, message)
    })?;
    drop(waits);
    outcome
}

fn account_of(state: &AppState, key: &ApiKey) -> Result<AccountHandle, Refusal> {
    state.system.accounts().get(key.account)?.ok_or_else(|| {
        let message = "API key not valid: its account no longer exists";
        Refusal::new(Kind::InvalidKey, message)
    })
}

fn price(state: &AppState, asked: &Asked) -> Amount {
    let price = state.catalog.price(asked.tier, asked.resolution);
    price.unwrap_or_default()
}

/// A call that has passed its checks.
struct Call {
    state: web::Data<CompatState>,
    key: Arc<ApiKey>,
    shown: ShownKey,
    account: AccountHandle,
    price: Amount,
    used: Option<IdempotencyUse>,
    request: Option<Request>,
    /// Closed once nobody waits for the call any more. Nothing is ever sent.
    gone: oneshot::Receiver<()>,
    /// When the call is given up.
    until: Instant,
}

impl Call {
    async fn accept(mut self, asked: Asked) -> Result<Caller, Refusal> {
        // Given up in the middle, it takes back what it has stored.
        let mut inputs = tokio::select! {
            gathered = gather(&self.state, &asked.prefix, asked.inputs) => gathered?,
            () = sleep_until(self.until) => return Err(late()),
            _ = &mut self.gone => return Err(departed()),
        };
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
        let brief = match self.brief(words).await {
            Ok(brief) => brief,
            Err(refusal) => {
                self.discard(inputs, None).await;
                return Err(refusal);
            }
        };
        let stored = match &brief {
            Brief::Stored(key) => Some(key.clone()),
            Brief::Inline(_) => None,
        };
        if let Err(refusal) = self.is_waited_for() {
            self.discard(inputs, stored).await;
            return Err(refusal);
        }
        let new = NewJob {
            key: self.key.id,
            shown: Some(self.shown),
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
        if !request_text::is_too_large(&words) {
            return Ok(Brief::Inline(words));
        }
        let stored = request_text::store(&self.state.images, &words).await;
        stored.map(Brief::Stored).map_err(|error| {
            tracing::error!(%error, "words could not be stored");
            let message = "the request could not be stored; try again";
            Refusal::new(Kind::Unavailable, message)
        })
    }

    fn is_waited_for(&mut self) -> Result<(), Refusal> {
        if Instant::now() >= self.until {
            return Err(late());
        }
        match self.gone.try_recv() {
            Err(TryRecvError::Empty) => Ok(()),
            Ok(()) | Err(TryRecvError::Closed) => Err(departed()),
        }
    }

    async fn reserve(&self, new: NewJob) -> Result<Caller, Refusal> {
        let accepted = acceptance::reserve(&self.state, &self.account, new, None).await?;
        let account = self.key.account;
        let mut caller = Caller::new(&self.state, account, accepted.job, accepted.replayed);
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

fn late() -> Refusal {
    let message = "the input images were not there in time; nothing was begun and nothing charged";
    Refusal::new(Kind::Deadline, message)
}

/// Heard by nobody.
fn departed() -> Refusal {
    Refusal::new(Kind::Canceled, "the caller has gone away")
}
