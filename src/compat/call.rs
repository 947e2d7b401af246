//! A call from its valid request to its accepted job: the same checks, holding and settling as for the native interface.

use super::caller::Caller;
use super::gathering::{Gathered, gather, input_of};
use super::orphans::Request;
use super::refusal::{Kind, Refusal};
use crate::http::rate::{self, Standing};
use crate::http::state::AppState;
use crate::http::{failures, funds, open};
use crate::inputs::{self, Held};
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
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Brief, JobState, Origin, Words};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall, NewJob};
use tokio::sync::oneshot;

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
            spend_limits: self.key.spend_limits(),
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
