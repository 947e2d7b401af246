//! Who has signed in, and that a change was asked for by the panel's own pages.
//!
//! What they may see and change the application decides: every handler that touches an account takes one of the extractors of
//! [`crate::web::access`].

use super::cookie;
use crate::application::caller::Caller;
use crate::application::{sessions, tokens};
use crate::web::access::{Authenticator, is_change};
use crate::web::audit_context;
use crate::web::auth::state_of;
use crate::web::problem::{Code, Problem};
use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::Uri;
use actix_web::http::header::{self, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;

pub use crate::application::sessions::{SignedIn, User};

/// The header that pages send with each change. Another site's page cannot, without asking first.
pub const HEADER: &str = "X-Tintype-Panel";

fn unauthorized() -> Problem {
    Problem::new(Code::Unauthorized, "sign in first")
}

fn forbidden(detail: &str) -> Problem {
    Problem::new(Code::Forbidden, detail)
}

async fn signed_in(request: &HttpRequest) -> Result<SignedIn, Problem> {
    let state = state_of(request)?;
    let cookie = cookie::read(request, &state.public_url).ok_or_else(unauthorized)?;
    let id = tokens::digest(cookie.as_bytes());
    let visitor = sessions::resolve(state, id)
        .await?
        .ok_or_else(unauthorized)?;
    if let (User::Person(person), true) = (&visitor.user, is_change(request.method())) {
        state.limits.admit_change(person.id)?;
    }
    if visitor.session.is_stale(state.now()) {
        actix_web::rt::spawn(sessions::record_use(state.clone().into_inner(), id));
    }
    Ok(visitor)
}

/// The visitor who has signed in.
pub const AUTHENTICATOR: Authenticator = Authenticator(|request| {
    Box::pin(async move {
        let visitor = signed_in(&request).await?;
        let audit = audit_context::of(visitor.user.actor(), &request, state_of(&request)?);
        Ok(match visitor.user {
            User::Operator => Caller::operator(audit),
            User::Person(person) => Caller::Person { person, audit },
        })
    })
});

impl FromRequest for SignedIn {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { signed_in(&request).await })
    }
}

/// Wraps every call of the panel: refuses changes that another site's page may have set off, and keeps answers out of caches.
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
