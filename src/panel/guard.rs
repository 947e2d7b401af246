//! Authenticates visitors and rejects cross-site changes.
//!
//! The application authorises: every handler that touches an account takes one of the extractors of [`crate::web::auth::access`].

use super::cookie;
use crate::application::caller::Caller;
use crate::application::credentials::tokens;
use crate::application::people::sessions;
use crate::application::services::AccountService;
use crate::application::settings::Settings;
use crate::web::auth::access::{Authenticator, is_change};
use crate::web::auth::audit_context;
use crate::web::auth::{impl_from_request, service};
use crate::web::problem::{Code, Problem};
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Uri;
use actix_web::http::header::{self, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpRequest};
use std::sync::Arc;

pub use crate::application::people::sessions::{SignedIn, User};

/// The header that panel pages send with each change. A page of another site needs a CORS preflight for it, which fails.
pub const HEADER: &str = "X-Tintype-Panel";

fn unauthorized() -> Problem {
    Problem::new(Code::Unauthorized, "sign in first")
}

fn forbidden(detail: &str) -> Problem {
    Problem::new(Code::Forbidden, detail)
}

async fn signed_in(request: &HttpRequest) -> Result<SignedIn, Problem> {
    let accounts: &Data<AccountService> = service(request)?;
    let cookie = cookie::read(request, &accounts.settings.public_url).ok_or_else(unauthorized)?;
    let id = tokens::digest(cookie.as_bytes());
    let visitor = sessions::resolve(accounts, id)
        .await?
        .ok_or_else(unauthorized)?;
    if let (User::Person(person), true) = (&visitor.user, is_change(request.method())) {
        accounts.limits.admit_change(person.id)?;
    }
    if visitor.session.is_stale(accounts.core.now()) {
        actix_web::rt::spawn(sessions::record_use(Arc::clone(&accounts.core), id));
    }
    Ok(visitor)
}

pub const AUTHENTICATOR: Authenticator = Authenticator(|request| {
    Box::pin(async move {
        let visitor = signed_in(&request).await?;
        let audit = audit_context::from_request(visitor.user.actor(), &request, service(&request)?);
        Ok(match visitor.user {
            User::Operator => Caller::operator(audit),
            User::Person(person) => Caller::Person { person, audit },
        })
    })
});

impl_from_request!(SignedIn: extract);

async fn extract(request: HttpRequest) -> Result<SignedIn, Problem> {
    signed_in(&request).await
}

/// Wraps every panel call: rejects changes that another site may have triggered.
pub async fn same_site<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let checked = match is_change(request.method()) {
        true => check_origin(request.request()),
        false => Ok(()),
    };
    let mut response = match checked {
        Ok(()) => next.call(request).await?.map_into_left_body(),
        // A response, not an `Err`: an error drops the request and is counted under no route.
        Err(problem) => request.error_response(problem).map_into_right_body(),
    };
    let headers = response.headers_mut();
    // A browser that opens a response directly must not run it as a page.
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
    let refused = || forbidden("only pages of the panel may make changes");
    if text(HEADER).is_none() || text("sec-fetch-site").is_some_and(|it| it != "same-origin") {
        return Err(refused());
    }
    let Some(origin) = text("origin") else {
        // Browsers send `Origin` with every change. Other clients cannot be tricked by a site.
        return Ok(());
    };
    let authority = |url: &str| {
        let url: Uri = url.parse().ok()?;
        url.authority().map(|it| it.as_str().to_ascii_lowercase())
    };
    let from = authority(origin).ok_or_else(refused)?;
    let host = text("host").map(str::to_ascii_lowercase);
    let public = authority(&service::<Settings>(request)?.public_url);
    if Some(&from) == host.as_ref() || Some(from) == public {
        return Ok(());
    }
    Err(refused())
}
