//! Extractors of management calls: the caller and the record that the path names. The operator interface and the panel share them and
//! differ only in the [`Authenticator`].

use crate::application::accounts;
use crate::application::accounts::api_keys;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::jobs;
use crate::application::people;
use crate::application::settings::Settings;
use crate::application::webhooks;
use crate::application::webhooks::deliveries;
use crate::web::auth::{impl_from_request, service};
use crate::web::body::read_json;
use crate::web::problem::{Code, Problem};
use crate::web::queries::query;
use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::{FromRequest, HttpRequest};
use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use std::str::FromStr;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::person::Person;
use tintype_storage::domain::webhook::Webhook;

/// Authenticates the callers of a scope. Each scope with management calls has one.
#[derive(Clone, Copy)]
pub struct Authenticator(pub fn(HttpRequest) -> LocalBoxFuture<'static, Result<Caller, Problem>>);

/// Requires the operator.
pub struct OperatorCall(pub Caller);

/// The record that the path names, for the operator alone. Authenticates before the lookup: two separate extractors would run
/// concurrently, and the first fault would win.
pub struct OperatorOnly<T> {
    pub caller: Caller,
    pub named: T,
}

impl<T: FromRequest<Error = Problem> + 'static> FromRequest for OperatorOnly<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let OperatorCall(caller) = operator_call(request.clone()).await?;
            let named = T::extract(&request).await?;
            Ok(Self { caller, named })
        })
    }
}

/// A caller with the JSON body of the call. Authenticates before it reads the body.
pub struct WithBody<T>(pub T, pub Bytes);

impl<T: FromRequest<Error = Problem> + 'static> FromRequest for WithBody<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let caller = T::extract(&request).await?;
            let settings = service::<Settings>(&request)?;
            Ok(Self(caller, read_json(&request, payload, settings).await?))
        })
    }
}

/// The account that the path names. The caller may see it, and change it unless the method is GET or HEAD.
pub struct OfAccount {
    pub caller: Caller,
    pub account: Account,
}

pub struct OfKey {
    pub caller: Caller,
    pub key: ApiKey,
}

pub struct OfWebhook {
    pub caller: Caller,
    pub webhook: Webhook,
}

pub struct OfDelivery {
    pub caller: Caller,
    pub delivery: Delivery,
}

/// The job that the path names. A path without an account is for the operator; its query may name the account of the job.
pub struct OfJob {
    pub caller: Caller,
    pub job: Job,
}

pub struct OfPerson {
    pub caller: Caller,
    pub person: Person,
}

pub fn is_change(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// A named segment of the path.
pub fn path_segment<'a>(request: &'a HttpRequest, name: &str) -> &'a str {
    request.match_info().get(name).unwrap_or_default()
}

fn id<T: FromStr>(request: &HttpRequest, name: &str) -> Option<T> {
    path_segment(request, name).parse().ok()
}

async fn caller(request: &HttpRequest) -> Result<Caller, Problem> {
    let authenticator = request.app_data::<Authenticator>();
    let missing = || {
        Problem::new(
            Code::Internal,
            "the service is misconfigured: no authenticator",
        )
    };
    let Authenticator(authenticate) = authenticator.ok_or_else(missing)?;
    authenticate(request.clone()).await
}

/// The caller, restricted to the account of the path if it names one.
async fn scoped_caller(request: &HttpRequest) -> Result<Caller, Problem> {
    match request.match_info().get("account_id") {
        Some(_) => Ok(of_account(request.clone()).await?.caller),
        None => caller(request).await,
    }
}

async fn operator_call(request: HttpRequest) -> Result<OperatorCall, Problem> {
    let caller = caller(&request).await?;
    caller.require_operator()?;
    Ok(OperatorCall(caller))
}

async fn of_account(request: HttpRequest) -> Result<OfAccount, Problem> {
    let caller = caller(&request).await?;
    let id = id(&request, "account_id").ok_or_else(accounts::no_account)?;
    let account = accounts::find(service::<Core>(&request)?, &caller, id).await?;
    if is_change(request.method()) {
        caller.authorize_change(&account)?;
    }
    Ok(OfAccount {
        caller: caller.within(account.id),
        account,
    })
}

async fn of_key(request: HttpRequest) -> Result<OfKey, Problem> {
    let caller = scoped_caller(&request).await?;
    let id = id(&request, "key_id").ok_or_else(api_keys::no_key)?;
    let (_, key) = api_keys::find(service::<Core>(&request)?, &caller, id).await?;
    Ok(OfKey { caller, key })
}

async fn of_webhook(request: HttpRequest) -> Result<OfWebhook, Problem> {
    let caller = scoped_caller(&request).await?;
    let id = id(&request, "webhook_id").ok_or_else(webhooks::no_webhook)?;
    let webhook = webhooks::find(service::<Core>(&request)?, &caller, id).await?;
    Ok(OfWebhook { caller, webhook })
}

async fn of_delivery(request: HttpRequest) -> Result<OfDelivery, Problem> {
    let caller = scoped_caller(&request).await?;
    let id = id(&request, "delivery_id").ok_or_else(deliveries::no_delivery)?;
    let delivery = deliveries::find(service::<Core>(&request)?, &caller, id).await?;
    Ok(OfDelivery { caller, delivery })
}

async fn of_job(request: HttpRequest) -> Result<OfJob, Problem> {
    let core = service::<Core>(&request)?;
    let id = path_segment(&request, "job_id");
    if request.match_info().get("account_id").is_some() {
        let OfAccount { caller, account } = of_account(request.clone()).await?;
        let job = jobs::find(core, account.id, id).await?;
        return Ok(OfJob { caller, job });
    }
    let OperatorCall(caller) = operator_call(request.clone()).await?;
    let id = jobs::read_id(id)?;
    let account = query::parsed(&request, "account_id", query::id)?;
    let job = jobs::find_in_all(core, account, id).await?;
    Ok(OfJob { caller, job })
}

async fn of_person(request: HttpRequest) -> Result<OfPerson, Problem> {
    let OfAccount { caller, account } = of_account(request.clone()).await?;
    let id = id(&request, "person_id").ok_or_else(people::no_person)?;
    let person = people::find(service::<Core>(&request)?, &caller, account.id, id).await?;
    Ok(OfPerson { caller, person })
}

impl_from_request!(
    OperatorCall: operator_call,
    OfAccount: of_account,
    OfKey: of_key,
    OfWebhook: of_webhook,
    OfDelivery: of_delivery,
    OfJob: of_job,
    OfPerson: of_person,
);
