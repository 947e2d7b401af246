//! The six generation calls, with their checks in the published order.

use super::acceptance;
use super::crowd;
use super::dry_run;
use super::funds;
use super::open;
use crate::api::generation::{self, Endpoint};
use crate::api::job::Created;
use crate::application::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::commit::detached;
use crate::application::error;
use crate::application::state::AppState;
use crate::inputs::{self, Held, IngestError, InputImage};
use crate::observability::request_log;
use crate::request_text;
use crate::web::auth::Principal;
use crate::web::body;
use crate::web::idempotency_key;
use crate::web::problem::{Code, Problem};
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use object_store::path::Path;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::audit_log::{Action, AuditEntry, Note};
use tintype_storage::domain::caller::ShownKey;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{self, Brief, Callback, Origin, Words};
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::{Fingerprint, GenerationRequest};
use tintype_storage::domain::webhook;
use tintype_storage::store::{Accepted, IdempotencyUse, NewJob};
use uuid::Uuid;

/// Handles one generation call.
pub async fn create(
    endpoint: Endpoint,
    principal: Principal,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    check_scope(&principal.key, endpoint)?;
    let body = body::read_json(&request, payload, &state).await?;
    submit(
        endpoint,
        principal,
        request.headers(),
        request.query_string(),
        &body,
        Vec::new(),
        state,
    )
    .await
}

/// The same once the body has been read. `handed` are input images that came with it, before those that it names; they are
/// taken back unless a job comes of it.
pub async fn submit(
    endpoint: Endpoint,
    principal: Principal,
    headers: &HeaderMap,
    query: &str,
    body: &[u8],
    handed: Vec<Held>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let key = &principal.key;
    check_scope(key, endpoint)?;
    crowd::check(&state, key.account).await?;
    let Parsed {
        mut asked,
        name,
        is_dry_run,
    } = parse(headers, query, body, endpoint, handed.len(), &state)?;
    // A call that is only checked neither uses nor is answered by an idempotency key.
    let used = name.filter(|_| !is_dry_run).map(|name| IdempotencyUse {
        name,
        fingerprint: fingerprint(&asked, &handed),
    });
    let words = words_of(&mut asked);
    let needs_material =
        !asked.input_urls.is_empty() || !handed.is_empty() || request_text::is_too_large(&words);
    let opened = Opened::of(&principal, &asked, &state);
    // The account's actor knows an idempotency key that was used before. It is looked for here as well where it would not be
    // asked, or only after the call has cost something.
    if let Some(used) = &used
        && (opened.is_err() || needs_material)
        && let Some(replay) = replay(&state, key.account, used)?
    {
        return Ok(replay);
    }
    let Opened { account, callback } = opened?;
    let price = state
        .catalog
        .price(asked.tier, asked.resolution)
        .unwrap_or_default();
    let call = Call {
        state,
        key: Arc::clone(key),
        shown: principal.shown,
        asked,
        words,
        callback,
        price,
        used,
        account,
        handed,
        author: principal.author,
    };
    if needs_material || is_dry_run {
        funds::check(&call.state, &call.key, call.price).await?;
        // Apart from this request's own life: a caller that goes away must leave no objects behind.
        return match is_dry_run {
            true => detached(call.try_out()).await,
            false => detached(call.accept()).await,
        };
    }
    call.accept().await
}

/// What an idempotency key is bound to. Images that come with the call count by their bytes.
fn fingerprint(asked: &GenerationRequest, handed: &[Held]) -> Fingerprint {
    let asked = asked.fingerprint();
    if handed.is_empty() {
        return asked;
    }
    let mut all = Sha256::new_with_prefix(asked.0);
    handed.iter().for_each(|it| all.update(it.sha256()));
    Fingerprint(all.finalize().into())
}

/// What the first use of an idempotency key was answered; `None` when this is the first.
fn replay(
    state: &AppState,
    account: AccountId,
    used: &IdempotencyUse,
) -> Result<Option<HttpResponse>, Problem> {
    let first = acceptance::first_use(state, account, used)?;
    Ok(first.map(|job| {
        state.system.stats().jobs.replayed();
        accepted(state, job.0, true)
    }))
}

/// What a call finds that is not refused for a pause, for its key's rate, or for the account's live jobs.
struct Opened {
    account: AccountHandle,
    callback: Option<Callback>,
}

impl Opened {
    fn of(
        principal: &Principal,
        asked: &GenerationRequest,
        state: &AppState,
    ) -> Result<Self, Problem> {
        let key = &principal.key;
        open::check(state, asked.tier)?;
        principal.admit()?;
        let account = state.system.accounts().get(key.account)?;
        let account = account.ok_or_else(error::account_is_gone)?;
        acceptance::check_places(state, &account)?;
        let callback = callback_of(state, key, asked)?;
        Ok(Self { account, callback })
    }
}

/// A call that has passed its first checks.
struct Call {
    state: web::Data<AppState>,
    key: Arc<ApiKey>,
    shown: Option<ShownKey>,
    /// All but its words.
    asked: GenerationRequest,
    words: Words,
    callback: Option<Callback>,
    price: Amount,
    used: Option<IdempotencyUse>,
    account: AccountHandle,
    handed: Vec<Held>,
    /// Who asks, where it is not the key's holder.
    author: Option<AuditContext>,
}

impl Call {
    /// Gathers what the job needs, then asks the account's actor.
    async fn accept(mut self) -> Result<HttpResponse, Problem> {
        let material = self.gather().await?;
        let outcome = self.reserve(&material).await;
        match outcome {
            Ok(Accepted {
                job,
                replayed: false,
            }) => Ok(accepted(&self.state, job.0, false)),
            Ok(Accepted {
                job,
                replayed: true,
            }) => {
                material.discard(&self.state).await;
                Ok(accepted(&self.state, job.0, true))
            }
            Err(problem) => {
                // After a storage failure nobody knows whether the job is on the disk; if it is, it needs its material.
                if !self.state.fail_stop.has_tripped() {
                    material.discard(&self.state).await;
                }
                Err(problem)
            }
        }
    }

    /// Fetches what the job would need, and leaves nothing behind.
    async fn try_out(mut self) -> Result<HttpResponse, Problem> {
        let material = self.gather().await?;
        let job = self.new_job(&material);
        material.discard(&self.state).await;
        dry_run::answer(&self.state, self.key.account, &job?)
    }

    async fn gather(&mut self) -> Result<Material, Problem> {
        let handed = std::mem::take(&mut self.handed);
        Material::gather(&self.state, &self.asked.input_urls, &self.words, handed).await
    }

    async fn reserve(&mut self, material: &Material) -> Result<Accepted, Problem> {
        let job = self.new_job(material)?;
        let note = self.author.take().map(|author| self.note(&author, &job));
        acceptance::reserve(&self.state, &self.account, job, note).await
    }

    /// The line of the audit log about the job.
    fn note(&self, author: &AuditContext, job: &NewJob) -> Note<JobId> {
        let subject = Subject {
            account: Some(self.key.account),
            id: None,
        };
        let line = author.line(&self.state, Action::JobCreate, subject);
        let facts = json!({
            "key_id": job.key.to_string(),
            "tier": job.tier.word(),
            "mode": job.mode.word(),
            "resolution": job.resolution.word(),
            "price": job.price.to_string(),
        });
        Box::new(move |id| {
            let line = AuditEntry {
                subject: Some(id.0),
                ..line
            };
            to_audit_entry(line, None, Some(facts))
        })
    }

    /// The job to be reserved; it takes the words along.
    fn new_job(&mut self, material: &Material) -> Result<NewJob, Problem> {
        let asked = &self.asked;
        let ratio = match (asked.aspect, material.inputs.first()) {
            (AspectChoice::Fixed(ratio), _) => ratio,
            (AspectChoice::Auto, first) => {
                let offered = &self.state.catalog.offer(asked.tier).aspect_ratios;
                let nearest = first
                    .and_then(|image| AspectRatio::nearest(offered, image.width, image.height));
                nearest.ok_or_else(|| {
                    Problem::field("aspect_ratio", "`auto` needs an input image with a size")
                })?
            }
        };
        let input = |image: &InputImage| job::InputImage {
            key: image.key.clone(),
            bytes: image.bytes,
            width: image.width,
            height: image.height,
        };
        Ok(NewJob {
            key: self.key.id,
            shown: self.shown,
            tier: asked.tier,
            mode: asked.mode,
            aspect: asked.aspect,
            ratio,
            resolution: asked.resolution,
            brief: match &material.words {
                Some(key) => Brief::Stored(key.clone()),
                None => Brief::Inline(std::mem::take(&mut self.words)),
            },
            callback: self.callback.take(),
            origin: Origin::Native,
            inputs: material.inputs.iter().map(input).collect(),
            price: self.price,
            idempotency: self.used.take(),
        })
    }
}

fn check_scope(key: &ApiKey, endpoint: Endpoint) -> Result<(), Problem> {
    if key.allows(endpoint.tier) {
        return Ok(());
    }
    let detail = format!("this API key is not scoped for the {} model", endpoint.tier);
    Err(Problem::new(Code::ModelNotAllowed, detail))
}

/// A request whose body, headers and query have been found good.
struct Parsed {
    asked: GenerationRequest,
    /// The idempotency key.
    name: Option<String>,
    is_dry_run: bool,
}

/// Body, headers and query, with the faults of all.
fn parse(
    headers: &HeaderMap,
    query: &str,
    body: &[u8],
    endpoint: Endpoint,
    handed: usize,
    state: &AppState,
) -> Result<Parsed, Problem> {
    let is_dry_run = dry_run::is_asked(query);
    let name = idempotency_key::key(headers);
    let asked = generation::parse(
        body,
        endpoint,
        handed,
        &state.catalog,
        state.config.jobs.max_prompt_chars,
    );
    match (asked, name, is_dry_run) {
        (Ok(asked), Ok(name), Ok(is_dry_run)) => Ok(Parsed {
            asked,
            name,
            is_dry_run,
        }),
        (asked, name, is_dry_run) => {
            let faults = asked
                .err()
                .unwrap_or_default()
                .into_iter()
                .chain(name.err())
                .chain(is_dry_run.err().unwrap_or_default());
            Err(Problem::validation(faults.collect()))
        }
    }
}

/// The webhook that the caller names, which must be registered with exactly this URL.
fn callback_of(
    state: &AppState,
    key: &ApiKey,
    asked: &GenerationRequest,
) -> Result<Option<Callback>, Problem> {
    let Some(url) = &asked.callback_url else {
        return Ok(None);
    };
    let webhooks = state.store.webhooks(key.account)?;
    let named = webhook::choose(&webhooks, Some(url)).map(|it| Callback {
        webhook: it.id,
        url: it.url.clone(),
    });
    let message = "is not the URL of a registered webhook of this account";
    named
        .map(Some)
        .ok_or_else(|| Problem::field("callback_url", message))
}

/// What a call has put into the object store before its job exists.
#[derive(Default)]
struct Material {
    inputs: Vec<InputImage>,
    words: Option<String>,
}

impl Material {
    async fn gather(
        state: &AppState,
        urls: &[String],
        words: &Words,
        handed: Vec<Held>,
    ) -> Result<Self, Problem> {
        let mut material = Self::default();
        if !urls.is_empty() {
            let prefix = Path::from(format!("inputs/{}", Uuid::new_v4()));
            let limits = state.input_limits();
            material.inputs =
                inputs::ingest(&state.egress, state.images.store(), &prefix, urls, &limits)
                    .await
                    .map_err(ingest_problem)?;
        }
        // Kept only now: what fails before this line takes them back.
        let handed = handed.into_iter().map(Held::keep);
        material.inputs.splice(0..0, handed);
        if request_text::is_too_large(words) {
            match request_text::store(&state.images, words).await {
                Ok(key) => material.words = Some(key),
                Err(error) => {
                    tracing::error!(%error, "words could not be stored");
                    material.discard(state).await;
                    return Err(Problem::new(
                        Code::StorageUnavailable,
                        "the request could not be stored; try again",
                    ));
                }
            }
        }
        Ok(material)
    }

    async fn discard(&self, state: &AppState) {
        inputs::discard(state.images.store().as_ref(), &self.inputs).await;
        if let Some(key) = &self.words
            && let Err(error) = state.images.delete(key).await
        {
            tracing::warn!(%key, %error, "an object of a refused call could not be removed");
        }
    }
}

fn ingest_problem(error: IngestError) -> Problem {
    match error {
        IngestError::Invalid(faults) => {
            let fault = |(field, message)| crate::web::problem::FieldFault { field, message };
            Problem::validation(faults.into_iter().map(fault).collect())
        }
        IngestError::Store(fault) => {
            tracing::error!(error = %fault, "input images could not be stored");
            Problem::new(
                Code::StorageUnavailable,
                "the input images could not be stored; try again",
            )
        }
    }
}

/// Takes the words out of a request.
fn words_of(asked: &mut GenerationRequest) -> Words {
    Words {
        prompt: std::mem::take(&mut asked.prompt),
        metadata: asked.metadata.take().as_ref().map(Json::to_compact),
    }
}

fn accepted(state: &AppState, job: Uuid, replayed: bool) -> HttpResponse {
    let job_id = job.to_string();
    let status_url = format!("/api/v1/jobs/{job_id}");
    let mut answer = HttpResponse::Accepted();
    answer.insert_header((
        header::LOCATION,
        format!("{}{status_url}", state.public_url),
    ));
    answer.insert_header((header::RETRY_AFTER, "2"));
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    request_log::note_job_of(&mut answer, JobId(job));
    if replayed {
        answer.insert_header(("Idempotent-Replayed", "true"));
    }
    answer.json(Created {
        job_id,
        status: "queued",
        status_url,
    })
}
