//! Filtered lists of deliveries, for the operator and for one account.

use super::paging::{self, Window, to_page_async};
use super::query;
use crate::api::responses;
use crate::application::core::Core;
use crate::application::paging::filter_page;
use crate::application::webhooks::deliveries;
use crate::web::problem::{FieldFault, HttpResult, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::delivery::{Delivery, DeliveryStatus};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::Page;

/// Attempts in one page, each of up to 7 KiB as JSON. A delivery has up to 200 of them, so `limit` alone does not bound a page.
const MAX_PAGE_ATTEMPTS: u32 = 1_000;

#[derive(Default)]
struct Filter {
    account: Option<AccountId>,
    job: Option<JobId>,
    webhook: Option<WebhookId>,
    status: Option<DeliveryStatus>,
}

impl Filter {
    const NAMES: &'static [&'static str] = &["account_id", "job_id", "webhook_id", "status"];

    fn take(&mut self, name: &str, value: &str) -> Result<(), FieldFault> {
        match name {
            "account_id" => self.account = Some(query::id(name, value)?),
            "job_id" => self.job = Some(query::id(name, value)?),
            "webhook_id" => self.webhook = Some(query::id(name, value)?),
            _ => self.status = Some(query::one_of(name, value, DeliveryStatus::names())?),
        }
        Ok(())
    }

    fn matches(&self, delivery: &Delivery) -> bool {
        self.account.is_none_or(|it| it == delivery.account)
            && self.webhook.is_none_or(|it| it == delivery.webhook)
            && self.status.is_none_or(|it| it == delivery.state.status())
    }
}

pub async fn for_all_accounts(request: &HttpRequest, core: &web::Data<Core>) -> HttpResult {
    list(request, core, Filter::default(), Filter::NAMES).await
}

/// No filter can select another account.
pub async fn for_account(
    account: AccountId,
    request: &HttpRequest,
    core: &web::Data<Core>,
) -> HttpResult {
    let filter = Filter {
        account: Some(account),
        ..Filter::default()
    };
    list(request, core, filter, &["job_id", "webhook_id", "status"]).await
}

async fn list(
    request: &HttpRequest,
    core: &web::Data<Core>,
    mut filter: Filter,
    names: &[&str],
) -> HttpResult {
    let window = paging::filtered_window(request, names, |name, value| filter.take(name, value))?;
    let page = limit_attempts(read_page(core, filter, window).await?);
    let view = async |delivery| responses::delivery(core, delivery).await;
    Ok(HttpResponse::Ok().json(to_page_async(page, view).await?))
}

/// Ends a page before its attempts exceed the limit. The page keeps at least one delivery, so that the list goes on.
fn limit_attempts(mut page: Page<Delivery>) -> Page<Delivery> {
    let mut attempts = 0u32;
    let fits = |it: &&Delivery| {
        attempts = attempts.saturating_add(it.attempts);
        attempts <= MAX_PAGE_ATTEMPTS
    };
    let count = page.items.iter().take_while(fits).count().max(1);
    if count < page.items.len() {
        page.items.truncate(count);
        page.next = page.items.last().map(|it| it.id.0.into_bytes());
    }
    page
}

async fn read_page(
    core: &web::Data<Core>,
    filter: Filter,
    window: Window,
) -> Result<Page<Delivery>, Problem> {
    if let Some(job) = filter.job {
        let found = deliveries::of_job(core, filter.account, job).await?;
        let is_new = |it: &Delivery| {
            window
                .after
                .is_none_or(|after| it.id.0.into_bytes() < after)
        };
        let items = found.filter(|it| is_new(it) && filter.matches(it));
        return Ok(Page {
            items: items.into_iter().collect(),
            next: None,
        });
    }
    let (store, account) = (core.store.clone(), filter.account);
    Ok(filter_page(
        window,
        move |limit, after| match account {
            Some(account) => store.deliveries_of(account, limit, after).wait(),
            None => store.deliveries(limit, after).wait(),
        },
        |delivery| delivery.id.0.into_bytes(),
        move |delivery| filter.matches(delivery),
    )
    .await?)
}
