//! The list of deliveries, filtered: the operator's, and that of one account.

use super::paging::{self, Window, reading_listing};
use super::problem::{FieldFault, Problem};
use crate::api::answers;
use crate::application::filtered_page::sifted;
use crate::application::state::AppState;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::Page;

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
            && self.job.is_none_or(|it| delivery.job() == Some(it))
            && self.webhook.is_none_or(|it| it == delivery.webhook)
            && self.status.is_none_or(|it| it == delivery.state.word())
    }
}

/// Those of all accounts.
pub async fn of_all(
    request: &HttpRequest,
    state: &web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    listed(request, state, Filter::default(), Filter::NAMES).await
}

/// Those of one account, which no filter leads out of.
pub async fn of_account(
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
    let window = paging::filtered_window(request, names, |name, value| filter.take(name, value))?;
    let page = filtered(state, filter, window).await?;
    let view = async |delivery| answers::delivery(state, delivery).await;
    Ok(HttpResponse::Ok().json(reading_listing(page, view).await?))
}

async fn filtered(
    state: &web::Data<AppState>,
    filter: Filter,
    window: Window,
) -> Result<Page<Delivery>, Problem> {
    if let Some(job) = filter.job {
        // A delivery has the id of its job, so that no list has to be searched for it.
        let found = state.store.delivery(DeliveryId(job.0)).await?;
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
    Ok(sifted(
        window,
        move |limit, after| match account {
            Some(account) => store.deliveries_of(account, limit, after).wait(),
            None => store.deliveries(limit, after).wait(),
        },
        |delivery| delivery.id.0.into_bytes(),
        move |delivery| filter.lets(delivery),
    )
    .await?)
}
