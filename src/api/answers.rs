//! Answers that need more than their record.

use crate::application::accounts;
use crate::application::batches::BatchWithProgress;
use crate::application::deliveries;
use crate::application::error::{Error, ErrorKind};
use crate::application::jobs::image_url;
use crate::application::queue_estimate::waiting;
use crate::application::state::AppState;
use crate::application::webhooks::open_secret;
use crate::images::FAULT_TARGET;
use crate::request_text::{self, RequestTextError};
use futures_util::future::{join_all, try_join_all};
use tintype_api::text::AspectWord;
use tintype_api::{
    Account, ApiKey, BackendError, Batch, Delivery, JobRecord, Listing, Model, Person, Picture,
    Webhook,
};
use tintype_storage::domain::account;
use tintype_storage::domain::api_key;
use tintype_storage::domain::delivery;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::job::{Job, PromptRef, PromptText};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::person;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::webhook;
use tintype_storage::store::Page;

/// An account with what it has used of its limits.
pub fn account(state: &AppState, account: account::Account) -> Result<Account, Error> {
    let live_jobs = match account.limits.max_concurrent {
        Some(_) => accounts::actor(state, account.id)?.live_jobs(),
        None => 0,
    };
    Ok(Account::new(account, live_jobs, state.now()))
}

/// A key with what it has spent and when it was used; `text` is that of a new key.
pub async fn api_key(
    state: &AppState,
    key: api_key::ApiKey,
    text: Option<String>,
) -> Result<ApiKey, Error> {
    let panel_key = state.store.panel_key(key.account).await?;
    with_use(state, key, panel_key, text).await
}

/// A page of the keys of one account.
pub async fn api_keys(
    state: &AppState,
    account: AccountId,
    page: Page<api_key::ApiKey>,
) -> Result<Listing<ApiKey>, Error> {
    let panel_key = state.store.panel_key(account).await?;
    let keys = page.items.into_iter();
    let listed = keys.map(|key| with_use(state, key, panel_key, None));
    Ok(Listing::of(try_join_all(listed).await?, page.next))
}

async fn with_use(
    state: &AppState,
    key: api_key::ApiKey,
    panel_key: Option<KeyId>,
    text: Option<String>,
) -> Result<ApiKey, Error> {
    let store = &state.store;
    // Asked at the same time, so that they share a round trip.
    let (spending, written) =
        tokio::try_join!(store.key_spending(key.id), store.key_last_use(key.id))?;
    let last_use = state.auth.api_keys.last_use(key.id).max(written);
    let system = panel_key == Some(key.id);
    let now = state.now();
    Ok(ApiKey::new(key, system, &spending, last_use, text, now))
}

/// A person; `token` is that of an invitation that was made just now.
pub fn person(state: &AppState, person: &person::Person, token: Option<&str>) -> Person {
    let link = |token| format!("{}/panel#/invitation/{token}", state.public_url);
    Person::new(person, token.map(link), state.now())
}

/// A webhook with its secret.
pub fn webhook(state: &AppState, webhook: webhook::Webhook) -> Result<Webhook, Error> {
    let secret = open_secret(state, &webhook)?.text();
    Ok(Webhook {
        secret: Some(secret.into()),
        ..Webhook::from(webhook)
    })
}

/// A delivery with the attempts on record.
pub async fn delivery(state: &AppState, delivery: delivery::Delivery) -> Result<Delivery, Error> {
    let attempts = deliveries::attempts(state, &delivery).await?;
    Ok(Delivery::new(delivery, attempts))
}

/// A job of a list. If the text of its prompt cannot be read at the moment, the job is listed without it.
pub async fn listed_job<'a>(state: &AppState, job: &'a Job) -> Result<JobRecord<'a>, Error> {
    let text = prompt_text(state, job).await.unwrap_or_else(|error| {
        tracing::error!(target: FAULT_TARGET, job = %job.id, %error, "the words of a job could not be read");
        None
    });
    with_picture(state, job, text).await
}

/// A job with everything on record.
pub async fn job_record<'a>(state: &AppState, job: &'a Job) -> Result<JobRecord<'a>, Error> {
    let text = prompt_text(state, job).await.map_err(|error| {
        tracing::error!(target: FAULT_TARGET, job = %job.id, %error, "the words of a job could not be read");
        let detail = "the prompt of the job could not be read from the object store; try again";
        Error::new(ErrorKind::StorageUnavailable, detail)
    })?;
    with_picture(state, job, text).await
}

/// A job with what only the operator sees: the back end that made its image, or what went wrong at each one.
pub fn for_operator<'a>(state: &AppState, job: &Job, record: JobRecord<'a>) -> JobRecord<'a> {
    let tries = state.system.failed_tries(job.id).into_iter();
    let causes = tries.map(|it| BackendError::new(Some(it.backend), it.error.at, it.error.cause));
    let backend = job.picture().and_then(|it| it.backend.clone());
    JobRecord {
        causes: causes.collect(),
        picture: record.picture.map(|it| Picture { backend, ..it }),
        ..record
    }
}

/// A batch of a list. If its metadata cannot be read at the moment, the batch is listed without it.
pub async fn listed_batch(state: &AppState, (batch, progress): &BatchWithProgress) -> Batch {
    let text = text_of(state, &batch.text).await.unwrap_or_else(|error| {
        tracing::error!(batch = %batch.id, %error, "the metadata of a batch could not be read");
        None
    });
    Batch::new(batch, progress, text.and_then(|it| it.metadata))
}

/// A batch.
pub async fn batch(
    state: &AppState,
    (batch, progress): &BatchWithProgress,
) -> Result<Batch, Error> {
    let text = text_of(state, &batch.text).await.map_err(|error| {
        tracing::error!(batch = %batch.id, %error, "the metadata of a batch could not be read");
        let detail = "the metadata of the batch could not be read from the object store; try again";
        Error::new(ErrorKind::StorageUnavailable, detail)
    })?;
    Ok(Batch::new(batch, progress, text.and_then(|it| it.metadata)))
}

/// A page of batches.
pub async fn batches(state: &AppState, page: Page<BatchWithProgress>) -> Listing<Batch> {
    let listed = page.items.iter().map(|it| listed_batch(state, it));
    Listing::of(join_all(listed).await, page.next)
}

async fn with_picture<'a>(
    state: &AppState,
    job: &'a Job,
    text: Option<PromptText>,
) -> Result<JobRecord<'a>, Error> {
    let url = image_url(state, job).await?;
    Ok(JobRecord::new(job, text, url, waiting(state, job)))
}

/// The text of a job, from the record or from the object store; `None` if its object is gone.
///
/// # Errors
/// The object store fails.
pub async fn prompt_text(
    state: &AppState,
    job: &Job,
) -> Result<Option<PromptText>, RequestTextError> {
    text_of(state, &job.prompt).await
}

async fn text_of(
    state: &AppState,
    prompt: &PromptRef,
) -> Result<Option<PromptText>, RequestTextError> {
    match prompt {
        PromptRef::Inline(words) => Ok(Some(words.clone())),
        PromptRef::Stored(key) => match request_text::load(&state.images, key).await {
            Ok(words) => Ok(Some(words)),
            Err(error) if error.is_gone() => {
                tracing::warn!(%key, "a text is gone from the object store");
                Ok(None)
            }
            Err(error) => Err(error),
        },
    }
}

/// All models as they are now. `allows` tells which of them the caller may use.
pub fn models_on_sale(
    state: &AppState,
    pause: &Pause,
    allows: impl Fn(Tier) -> bool,
) -> Vec<Model> {
    let model = |tier: &Tier| {
        let offer = state.catalog.tier(*tier);
        let ratios = offer.aspect_ratios.iter().map(AspectWord::from);
        let prices = offer.prices.iter();
        Model {
            id: tier.word().into(),
            modes: Mode::ALL.iter().map(|mode| mode.word().into()).collect(),
            aspect_ratios: ratios
                .chain(offer.auto.then(|| AspectWord::from("auto")))
                .collect(),
            resolutions: offer.resolution_words().map(Into::into).collect(),
            prices: prices
                .map(|(it, price)| (it.word(), price.into()))
                .collect(),
            paused: pause.covers(*tier),
            paused_reason: pause.reason(*tier).map(str::to_owned),
            allowed: allows(*tier),
        }
    };
    Tier::ALL.iter().map(model).collect()
}
