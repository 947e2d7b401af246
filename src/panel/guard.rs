//! Who may see and change what: the one place that resolves a session, and an account for it.
//!
//! Every handler that touches an account takes [`OfAccount`], which is the only way to learn which account a path names. To
//! people of another account that account does not exist, whatever they ask of it.

use super::cookie;
use crate::application::audit_context::AuditContext;
use crate::application::state::AppState;
use crate::application::{api_keys, deliveries, sessions, tokens, webhooks};
use crate::web::audit_context;
use crate::web::auth::state_of;
use crate::web::problem::{Code, Problem};
use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, Uri};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpRequest};
use std::future::{Ready, ready};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::audit_log::Actor;
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::person::Role;
use tintype_storage::domain::webhook::{Webhook, WebhookId};

pub use crate::application::sessions::{SignedIn, Who};

/// The header that pages send with each change. Another site's page cannot, without asking first.
pub const HEADER: &str = "X-Tintype-Panel";

/// The operator, signed in to the panel.
pub struct OperatorHere {
    /// Who asks, for the audit log.
    pub context: AuditContext,
}

/// Someone who may do what they ask for with an account: look, or, for anything but GET and HEAD, change.
pub struct OfAccount {
    /// The account that the path names.
    pub account: Account,
    /// Who asks.
    pub visitor: SignedIn,
    /// Who asks, for the audit log.
    pub context: AuditContext,
}

fn unauthorized() -> Problem {
    Problem::new(Code::Unauthorized, "sign in first")
}

fn forbidden(detail: &str) -> Problem {
    Problem::new(Code::Forbidden, detail)
}

/// For what is not done while the operator has an account switched off.
pub fn switched_off() -> Problem {
    forbidden(
        "this account is switched off: it can be looked at, and nothing is made or changed for it",
    )
}

fn no_account() -> Problem {
    Problem::new(Code::NotFound, "there is no such account")
}

fn is_change(request: &HttpRequest) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD)
}

fn signed_in(request: &HttpRequest) -> Result<SignedIn, Problem> {
    let state = state_of(request)?;
    let cookie = cookie::read(request, &state.public_url).ok_or_else(unauthorized)?;
    let id = tokens::digest(cookie.as_bytes());
    let visitor = sessions::resolve(state, id)?.ok_or_else(unauthorized)?;
    if let (Who::Person(person), true) = (&visitor.who, is_change(request)) {
        state.admit_change(person.id)?;
    }
    if visitor.session.is_stale(state.now()) {
        actix_web::rt::spawn(sessions::record_use(state.clone().into_inner(), id));
    }
    Ok(visitor)
}

fn operator(request: &HttpRequest) -> Result<OperatorHere, Problem> {
    match signed_in(request)?.who {
        Who::Operator => Ok(OperatorHere {
            context: audit_context::of(Actor::Operator, request, state_of(request)?),
        }),
        Who::Person(_) => Err(forbidden("this is for the operator")),
    }
}

fn of_account(request: &HttpRequest) -> Result<OfAccount, Problem> {
    let visitor = signed_in(request)?;
    let state = state_of(request)?;
    let named = request.match_info().get("account_id").unwrap_or_default();
    let named: AccountId = named.parse().map_err(|_| no_account())?;
    if let Who::Person(person) = &visitor.who
        && person.account != named
    {
        return Err(no_account());
    }
    let account = state.store.account(named)?.ok_or_else(no_account)?;
    if let (Who::Person(person), true) = (&visitor.who, is_change(request)) {
        if person.role != Role::Owner {
            let detail = "you may look at this account but not change it; ask one of its owners";
            return Err(forbidden(detail));
        }
        if !account.active {
            return Err(switched_off());
        }
    }
    let context = audit_context::of(visitor.who.actor(), request, state);
    Ok(OfAccount {
        account,
        visitor,
        context,
    })
}

impl FromRequest for SignedIn {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(signed_in(request))
    }
}

impl FromRequest for OperatorHere {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(operator(request))
    }
}

impl FromRequest for OfAccount {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(of_account(request))
    }
}

impl OfAccount {
    /// A part of the path.
    pub fn part(&self, request: &HttpRequest, name: &str) -> String {
        request
            .match_info()
            .get(name)
            .unwrap_or_default()
            .to_owned()
    }

    /// The key that the path names, if it is this account's.
    pub fn key(&self, request: &HttpRequest, state: &AppState) -> Result<ApiKey, Problem> {
        let id: Option<KeyId> = self.part(request, "key_id").parse().ok();
        let found = id.map(|id| state.store.key(id)).transpose()?.flatten();
        let own = found.map(|(_, key)| key);
        let own = own.filter(|it| it.account == self.account.id);
        Ok(own.ok_or_else(api_keys::no_key)?)
    }

    /// The webhook that the path names, if it is this account's.
    pub fn webhook(&self, request: &HttpRequest, state: &AppState) -> Result<Webhook, Problem> {
        let id: Option<WebhookId> = self.part(request, "webhook_id").parse().ok();
        let found = id.map(|id| state.store.find_webhook(id)).transpose()?;
        let own = found.flatten().filter(|it| it.account == self.account.id);
        Ok(own.ok_or_else(webhooks::no_webhook)?)
    }

    /// The delivery that the path names, if it is this account's.
    pub fn delivery(&self, request: &HttpRequest, state: &AppState) -> Result<Delivery, Problem> {
        let id: Option<DeliveryId> = self.part(request, "delivery_id").parse().ok();
        let found = id.map(|id| state.store.delivery(id)).transpose()?;
        let own = found.flatten().filter(|it| it.account == self.account.id);
        Ok(own.ok_or_else(deliveries::no_delivery)?)
    }
}

/// Wraps every call of the panel: refuses changes that another site's page may have set off, and keeps answers out of caches.
pub async fn same_site<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let checked = match is_change(request.request()) {
        true => check_origin(request.request()),
        false => Ok(()),
    };
    let mut response = match checked {
        Ok(()) => next.call(request).await?.map_into_left_body(),
        // As an answer and not as an error, which would leave its request behind and be counted under no route.
        Err(problem) => request.error_response(problem).map_into_right_body(),
    };
    let headers = response.headers_mut();
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    // An answer that is opened by itself is no page either.
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    Ok(response)
}

fn check_origin(request: &HttpRequest) -> Result<(), Problem> {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).map(|it| it.to_str().unwrap_or("?"));
    let refused = || forbidden("changes are taken from the panel's own pages only");
    if text(HEADER).is_none() || text("sec-fetch-site").is_some_and(|it| it != "same-origin") {
        return Err(refused());
    }
    let Some(origin) = text("origin") else {
        // Browsers send it with every change; what does not is no browser, and has no session that could be misused.
        return Ok(());
    };
    let authority = |url: &str| {
        let url: Uri = url.parse().ok()?;
        url.authority().map(|it| it.as_str().to_ascii_lowercase())
    };
    let from = authority(origin).ok_or_else(refused)?;
    let host = text("host").map(str::to_ascii_lowercase);
    let public = authority(&state_of(request)?.public_url);
    if Some(&from) == host.as_ref() || Some(from) == public {
        return Ok(());
    }
    Err(refused())
}
