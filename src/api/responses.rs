//! Builds responses that need more than their record.

use crate::application::core::Core;
use crate::application::error::{self, Error, ErrorKind};
use crate::application::jobs::batches::BatchWithProgress;
use crate::application::services::{AccountService, JobService, WebhookService};
use crate::application::settings::Settings;
use crate::application::webhooks::deliveries;
use crate::application::webhooks::open_secret;
use crate::objects::FAULT_TARGET;
use crate::request_text;
use futures_util::future::{join_all, try_join_all};
use std::fmt::Display;
use tintype_api::text::{AspectWord, Money};
use tintype_api::{
    Account, ApiKey, BackendError, Batch, Delivery, JobRecord, Model, Page, Person, Picture,
    Webhook,
};
use tintype_storage::domain::account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key;
use tintype_storage::domain::delivery::{self, DeliveryKind};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::job::{Job, PromptRef, PromptText};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::person;
use tintype_storage::domain::spending::Spending;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook;
use tintype_storage::store::tables::{API_KEY_LAST_USE, JOB_REFUNDS, OPERATOR_EVENTS, PANEL_KEYS};
use tintype_storage::store::{self, StoreError};

/// An account with the usage of its limits.
pub async fn account(core: &Core, account: account::Account) -> Result<Account, Error> {
    let live_jobs = match account.limits.max_concurrent {
        Some(_) => core
            .account_actor(account.id, error::busy)
            .await?
            .live_jobs(),
        None => 0,
    };
    Ok(Account::new(account, live_jobs, core.now()))
}

/// A key with its use. `text` is set for a new key.
pub async fn api_key(
    accounts: &AccountService,
    key: api_key::ApiKey,
    text: Option<String>,
) -> Result<ApiKey, Error> {
    let panel_key = PANEL_KEYS.get(&accounts.core.store, &key.account).await?;
    // Read first: a job that ends after this read is neither spent nor reserved, instead of both.
    let used = KeyUsage::read(accounts, key).await?;
    let actor = accounts.core.account_actor(used.key.account, error::busy);
    let reserved = actor.await?.reserved_after_commits(used.key.id).await?;
    Ok(used.shown(panel_key, reserved, text, accounts.core.now()))
}

pub async fn api_keys(
    accounts: &AccountService,
    account: AccountId,
    page: store::Page<api_key::ApiKey>,
) -> Result<Page<ApiKey>, Error> {
    let panel_key = PANEL_KEYS.get(&accounts.core.store, &account).await?;
    let keys = page.items.into_iter();
    let used = try_join_all(keys.map(|key| KeyUsage::read(accounts, key))).await?;
    let ids: Vec<KeyId> = used.iter().map(|it| it.key.id).collect();
    let actor = accounts.core.account_actor(account, error::busy).await?;
    let reserved = actor.all_reserved_after_commits(&ids).await?;
    let now = accounts.core.now();
    let listed = used.into_iter().zip(reserved);
    let listed = listed.map(|(it, reserved)| it.shown(panel_key, reserved, None, now));
    Ok(Page::of(listed.collect(), page.next))
}

/// A key with its spending and its last use.
struct KeyUsage {
    key: api_key::ApiKey,
    spending: Spending,
    last_use: Option<Timestamp>,
}

impl KeyUsage {
    async fn read(accounts: &AccountService, key: api_key::ApiKey) -> Result<Self, Error> {
        let store = &accounts.core.store;
        // Concurrent, so that both reads share a round trip.
        let written = API_KEY_LAST_USE.get(store, &key.id);
        let (spending, written) = tokio::try_join!(store.key_spending(key.id), written)?;
        let last_use = accounts.auth.api_keys.last_use(key.id).max(written);
        Ok(Self {
            key,
            spending,
            last_use,
        })
    }

    fn shown(
        self,
        panel_key: Option<KeyId>,
        reserved: Amount,
        text: Option<String>,
        now: Timestamp,
    ) -> ApiKey {
        let system = panel_key == Some(self.key.id);
        let Self {
            key,
            spending,
            last_use,
        } = self;
        ApiKey::new(key, system, &spending, reserved, last_use, text, now)
    }
}

/// `token` is set for a new invitation.
pub fn person(
    core: &Core,
    settings: &Settings,
    person: &person::Person,
    token: Option<&str>,
) -> Person {
    let link = |token| format!("{}/panel#/invitation/{token}", settings.public_url);
    Person::new(person, token.map(link), core.now())
}

/// A webhook with its secret.
pub fn webhook(webhooks: &WebhookService, webhook: webhook::Webhook) -> Result<Webhook, Error> {
    let secret = open_secret(webhooks, &webhook)?.text();
    Ok(Webhook {
        secret: Some(secret.into()),
        ..Webhook::from(webhook)
    })
}

/// A delivery with its attempts, and with its type if it is an operator event.
pub async fn delivery(core: &Core, delivery: delivery::Delivery) -> Result<Delivery, Error> {
    let event = async {
        match delivery.kind {
            DeliveryKind::Operator => Ok(OPERATOR_EVENTS.get(&core.store, &delivery.id).await?),
            DeliveryKind::Event | DeliveryKind::Test | DeliveryKind::Batch => Ok(None),
        }
    };
    // Concurrent, so that both reads share a round trip.
    let (attempts, event) = tokio::try_join!(deliveries::attempts(core, &delivery), event)?;
    let event = event.map(|it| it.subject);
    Ok(Delivery::new(delivery, attempts).with_event(event.as_ref()))
}

/// Adds what only the operator sees: the backend of the image, or the error of each failed attempt, and what was refunded.
pub async fn for_operator<'a>(
    core: &Core,
    job: &Job,
    record: JobRecord<'a>,
) -> Result<JobRecord<'a>, StoreError> {
    let attempts = core.system.failed_attempts(job.id).into_iter();
    let attempts = attempts.filter(|_| !job.is_erased());
    let causes =
        attempts.map(|it| BackendError::new(Some(it.backend), it.error.at, it.error.cause));
    let backend = job.result_image().and_then(|it| it.backend.clone());
    let refunded = JOB_REFUNDS.get(&core.store, &(job.account, job.id)).await?;
    Ok(JobRecord {
        causes: causes.collect(),
        picture: record.picture.map(|it| Picture { backend, ..it }),
        erased: job.is_erased(),
        refunded: refunded.map(Money::from),
        ..record
    })
}

/// A batch, without its metadata if the metadata cannot be read now.
pub async fn batch(jobs: &JobService, (batch, progress): &BatchWithProgress) -> Batch {
    let text = text_of(jobs, &batch.text, "metadata of the batch", batch.id).await;
    let metadata = text.unwrap_or_default().and_then(|it| it.metadata);
    Batch::new(batch, progress, metadata)
}

pub async fn batches(jobs: &JobService, page: store::Page<BatchWithProgress>) -> Page<Batch> {
    let listed = page.items.iter().map(|it| batch(jobs, it));
    Page::of(join_all(listed).await, page.next)
}

/// The text of a record; `None` if its object no longer exists. `content` names the text in errors.
pub(super) async fn text_of(
    jobs: &JobService,
    text: &PromptRef,
    content: &str,
    id: impl Display,
) -> Result<Option<PromptText>, Error> {
    request_text::resolve(&jobs.objects, text)
        .await
        .map_err(|error| {
            tracing::error!(target: FAULT_TARGET, %id, %error, "could not read the {content}");
            let detail =
                format!("the {content} could not be read from the object store; try again");
            Error::new(ErrorKind::StorageUnavailable, detail)
        })
}

/// All models in their current state. `allows` decides which of them the caller may use.
pub fn models_on_sale(
    settings: &Settings,
    pause: &Pause,
    allows: impl Fn(Tier) -> bool,
) -> Vec<Model> {
    let model = |tier: &Tier| {
        let offer = settings.catalog.tier(*tier);
        let ratios = offer.aspect_ratios.iter().map(AspectWord::from);
        let prices = offer.prices.iter();
        Model {
            id: tier.as_str().into(),
            modes: Mode::ALL.iter().map(|mode| mode.as_str().into()).collect(),
            aspect_ratios: ratios
                .chain(offer.auto.then(|| AspectWord::from("auto")))
                .collect(),
            resolutions: offer.resolution_names().map(Into::into).collect(),
            prices: prices
                .map(|(it, price)| (it.as_str(), price.into()))
                .collect(),
            paused: pause.covers(*tier),
            paused_reason: pause.reason(*tier).map(str::to_owned),
            allowed: allows(*tier),
        }
    };
    Tier::ALL.iter().map(model).collect()
}
