//! The delivery log: what was sent, what came back, and sending again.

use super::webhooks::{find_webhook, no_webhook};
use crate::api::fields::Fields;
use crate::api::kinds;
use crate::application::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::error;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::filtered_page::sifted;
use crate::web::paging::{Listing, Window};
use crate::web::problem::{Code, FieldFault, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tintype_actors::delivery::{DeliveryCommand, DeliveryError, Redelivered};
use tintype_storage::domain::audit_log::{Action, AuditEntry, Note};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryState};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::store::{Page, StoreError};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Deliveries that one call for a webhook looks at, and sends again, at the most.
const MAX_LOOKED_AT: usize = 10_000;
/// Deliveries read, and sent again, at a time.
const STEP: usize = 500;
/// The fields of a range of failed deliveries.
pub const RANGE: &[&str] = &["from", "to", "cursor"];

/// A delivery on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Delivery", deny_unknown_fields)]
pub struct DeliveryView {
    /// The delivery's id: `webhook-id` of each attempt.
    #[schemars(with = "kinds::Id")]
    delivery_id: String,
    /// Whose it is.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// The job that it tells of.
    #[schemars(with = "kinds::Id")]
    job_id: String,
    /// The webhook; it may have been removed since.
    #[schemars(with = "kinds::Id")]
    webhook_id: String,
    /// Where it goes.
    url: String,
    /// How it stands.
    #[schemars(with = "kinds::DeliveryStatus")]
    status: &'static str,
    /// Only of one that failed: why it is given up.
    #[schemars(with = "Option<kinds::DeliveryReason>")]
    reason: Option<&'static str>,
    /// What was tried, oldest first.
    attempts: Vec<AttemptView>,
    /// Only of a pending one.
    #[schemars(with = "Option<kinds::Moment>")]
    next_attempt_at: Option<String>,
    /// When it was owed.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
}

/// One `POST` of a delivery.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Attempt", deny_unknown_fields)]
struct AttemptView {
    /// When it began.
    #[schemars(with = "kinds::Moment")]
    at: String,
    /// Where it went: the webhook's URL at that moment.
    #[schemars(with = "kinds::Url")]
    url: String,
    /// The status of the answer, where there was one.
    #[schemars(with = "Option<kinds::StatusCode>")]
    status_code: Option<u16>,
    /// What went wrong, where there was no proper answer.
    error: Option<String>,
    /// How long it took.
    #[schemars(with = "kinds::Count")]
    duration_ms: u64,
    /// The first kibibyte of the answer.
    response_body: String,
}

/// How many deliveries were sent again.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Redelivery", deny_unknown_fields)]
pub struct Redelivery {
    /// So many are pending again.
    #[schemars(with = "kinds::Count")]
    redelivered: usize,
    /// Is a part of the log left for another call?
    more: bool,
    /// What goes on from here, as `cursor`; `null` once the whole log has been looked at.
    next_cursor: Option<String>,
}

impl DeliveryView {
    /// A delivery with its attempts.
    pub fn new(delivery: Delivery, attempts: Vec<Attempt>) -> Self {
        let attempt = |it: Attempt| AttemptView {
            at: it.at.to_string(),
            url: it.url.unwrap_or_else(|| delivery.url.clone()),
            status_code: it.status_code,
            error: it.error,
            duration_ms: it.duration_ms,
            response_body: it.response_body,
        };
        let attempts = attempts.into_iter().map(attempt).collect();
        Self {
            delivery_id: delivery.id.to_string(),
            account_id: delivery.account.to_string(),
            job_id: delivery.job.to_string(),
            webhook_id: delivery.webhook.to_string(),
            url: delivery.url,
            status: delivery.state.word(),
            reason: delivery.state.reason().map(|reason| reason.words()),
            attempts,
            next_attempt_at: delivery.state.due().map(|due| due.to_string()),
            created_at: delivery.created_at.to_string(),
        }
    }
}

/// What the audit log says of a delivery.
pub fn facts(delivery: &Delivery) -> Value {
    json!({
        "job_id": delivery.job.to_string(),
        "webhook_id": delivery.webhook.to_string(),
        "url": delivery.url,
        "status": delivery.state.word(),
        "reason": delivery.state.reason().map(|reason| reason.words()),
        "attempts": delivery.attempts,
    })
}

fn view(state: &AppState, delivery: Delivery) -> Result<DeliveryView, Problem> {
    let mut attempts = state.store.attempts(delivery.id)?;
    // Read after the delivery, so there may be newer ones, which do not go with its status and moment.
    attempts.truncate(usize::try_from(delivery.attempts).unwrap_or(usize::MAX));
    Ok(DeliveryView::new(delivery, attempts))
}

/// Which deliveries a list is to hold.
#[derive(Default)]
struct Filter {
    account: Option<AccountId>,
    job: Option<JobId>,
    webhook: Option<WebhookId>,
    status: Option<&'static str>,
}

impl Filter {
    const NAMES: &'static [&'static str] = &["account_id", "job_id", "webhook_id", "status"];

    fn take(&mut self, name: &str, value: &str) -> Option<FieldFault> {
        let id = || Some(FieldFault::new(name, "must be an id"));
        match name {
            "account_id" => value
                .parse()
                .map(|it| self.account = Some(it))
                .map_or_else(|_| id(), |()| None),
            "job_id" => value
                .parse()
                .map(|it| self.job = Some(it))
                .map_or_else(|_| id(), |()| None),
            "webhook_id" => value
                .parse()
                .map(|it| self.webhook = Some(it))
                .map_or_else(|_| id(), |()| None),
            _ => {
                self.status = ["pending", "delivered", "failed"]
                    .into_iter()
                    .find(|word| *word == value);
                let fault = FieldFault::new(name, "must be pending, delivered or failed");
                self.status.is_none().then_some(fault)
            }
        }
    }

    fn lets(&self, delivery: &Delivery) -> bool {
        self.account.is_none_or(|it| it == delivery.account)
            && self.job.is_none_or(|it| it == delivery.job)
            && self.webhook.is_none_or(|it| it == delivery.webhook)
            && self.status.is_none_or(|it| it == delivery.state.word())
    }
}

/// `GET /deliveries`
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    listed(&request, &state, Filter::default(), Filter::NAMES).await
}

/// The same for one account, which no filter leads out of.
pub async fn list_of(
    account: AccountId,
    request: &HttpRequest,
    state: &web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let filter = Filter {
        account: Some(account),
        ..Filter::default()
    };
    listed(request, state, filter, &["job_id", "webhook_id", "status"]).await
}

async fn listed(
    request: &HttpRequest,
    state: &web::Data<AppState>,
    mut filter: Filter,
    names: &[&str],
) -> Result<HttpResponse, Problem> {
    let window = Window::filtered(request, names, |name, value| filter.take(name, value))?;
    let page = filtered(state, filter, window).await?;
    Ok(HttpResponse::Ok().json(Listing::try_new(page, |delivery| view(state, delivery))?))
}

async fn filtered(
    state: &web::Data<AppState>,
    filter: Filter,
    window: Window,
) -> Result<Page<Delivery>, Problem> {
    if let Some(job) = filter.job {
        // A delivery has the id of its job, so that no list has to be searched for it.
        let found = state.store.delivery(DeliveryId(job.0))?;
        let is_new = |it: &Delivery| {
            window
                .after
                .is_none_or(|after| it.id.0.into_bytes() < after)
        };
        let items = found.filter(|it| is_new(it) && filter.lets(it));
        return Ok(Page {
            items: items.into_iter().collect(),
            next: None,
        });
    }
    let (store, account) = (state.store.clone(), filter.account);
    sifted(
        window,
        move |limit, after| match account {
            Some(account) => store.deliveries_of(account, limit, after),
            None => store.deliveries(limit, after),
        },
        |delivery| delivery.id.0.into_bytes(),
        move |delivery| filter.lets(delivery),
    )
    .await
}

/// `GET /deliveries/{delivery_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id: DeliveryId = path.parse().map_err(|_| missing())?;
    let delivery = state.store.delivery(id)?.ok_or_else(missing)?;
    Ok(HttpResponse::Ok().json(view(&state, delivery)?))
}

/// `POST /deliveries/{delivery_id}/redeliver`
pub async fn redeliver(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id: DeliveryId = path.parse().map_err(|_| missing())?;
    let delivery = send_again(&state, &operator.author, id).await?;
    Ok(HttpResponse::Accepted().json(view(&state, delivery)?))
}

/// `POST /webhooks/{webhook_id}/redeliver`: failed ones of a webhook that were created in a range of time, newest first. One
/// call looks at a bounded part of the account's log; `next_cursor` goes on from there.
pub async fn redeliver_failed(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let webhook = find_webhook(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let range = Range::read(&body)?;
    let mut after = range.after;
    let shared = state.clone();
    let found = web::block(move || failed(&shared, &webhook, &range)).await;
    let (wanted, mut next) = found.map_err(|_| error::busy())??;
    let mut redelivered = 0;
    for step in wanted.chunks(STEP) {
        // Begun together, so that they share the disk's time.
        let send = |id: &DeliveryId| send_again(&state, &operator.author, *id);
        let mut refused = None;
        for answer in join_all(step.iter().map(send)).await {
            match answer {
                Ok(_) => redelivered += 1,
                // Removed for its age, or its webhook given another URL, meanwhile.
                Err(Refusal::Delivery(DeliveryError::NotFound | DeliveryError::WebhookMoved)) => {}
                // The webhook was removed meanwhile.
                Err(Refusal::Delivery(DeliveryError::WebhookDeleted)) => return Err(no_webhook()),
                Err(refusal) => refused = Some(refusal),
            }
        }
        match refused {
            None => after = step.last().map(|id| id.0.into_bytes()),
            Some(refusal) if redelivered == 0 => return Err(refusal.into()),
            // Too much at once. What has been done is told, and another call goes on with this step.
            Some(_) => {
                next = Some(after.unwrap_or([u8::MAX; 16]));
                break;
            }
        }
    }
    Ok(HttpResponse::Accepted().json(Redelivery {
        redelivered,
        more: next.is_some(),
        next_cursor: next.map(|id| Uuid::from_bytes(id).simple().to_string()),
    }))
}

/// Which failed deliveries are to be sent again.
struct Range {
    from: Timestamp,
    to: Timestamp,
    after: Option<[u8; 16]>,
}

impl Range {
    fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = Fields::parse(body).map_err(Problem::validation)?;
        let from = fields.optional_time("from");
        let to = fields.optional_time("to");
        let cursor = fields.optional_string("cursor");
        let after = cursor.and_then(|text| {
            let read = Uuid::try_parse(&text);
            fields.checked(
                "cursor",
                read.map_err(|_| "must be a next_cursor of this call"),
            )
        });
        fields.finish(RANGE).map_err(Problem::validation)?;
        Ok(Self {
            from: from.unwrap_or(Timestamp::from_millis(0)),
            to: to.unwrap_or(Timestamp::from_millis(i64::MAX)),
            after: after.map(Uuid::into_bytes),
        })
    }
}

/// Those of a bounded part of the log, and where the rest begins. Blocks for as long as that takes to read.
fn failed(
    state: &AppState,
    webhook: &Webhook,
    range: &Range,
) -> Result<(Vec<DeliveryId>, Option<[u8; 16]>), StoreError> {
    let (mut wanted, mut after, mut looked_at) = (Vec::new(), range.after, 0);
    loop {
        let page = state.store.deliveries_of(webhook.account, STEP, after)?;
        looked_at += page.items.len();
        let within = |it: &&Delivery| {
            it.webhook == webhook.id
                && matches!(it.state, DeliveryState::Failed { .. })
                && (range.from..=range.to).contains(&it.created_at)
        };
        wanted.extend(page.items.iter().filter(within).map(|it| it.id));
        after = page.next;
        if after.is_none() || looked_at >= MAX_LOOKED_AT {
            return Ok((wanted, after));
        }
    }
}

/// Why a delivery is not sent again.
enum Refusal {
    Delivery(DeliveryError),
    Problem(Problem),
}

async fn send_again(
    state: &AppState,
    author: &AuditContext,
    id: DeliveryId,
) -> Result<Delivery, Refusal> {
    let (reply, answer) = oneshot::channel();
    let subject = Subject {
        account: None,
        id: Some(id.0),
    };
    let line = author.line(state, Action::DeliveryRedeliver, subject);
    let note: Note<Redelivered> = Box::new(move |change| {
        let line = AuditEntry {
            account: Some(change.before.account),
            ..line
        };
        to_audit_entry(
            line,
            Some(facts(&change.before)),
            Some(facts(&change.after)),
        )
    });
    state
        .system
        .deliveries()
        .try_send(DeliveryCommand::Redeliver {
            id,
            note: Some(note),
            reply,
        })
        .map_err(|_| Refusal::Problem(error::busy_delivering().into()))?;
    let answer = answer
        .await
        .map_err(|_| Refusal::Problem(error::stopping().into()))?;
    answer.map_err(Refusal::Delivery)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Delivery(error) => error.into(),
            Refusal::Problem(problem) => problem,
        }
    }
}

fn missing() -> Problem {
    Problem::new(Code::NotFound, "there is no such delivery")
}
