//! Extractors that authenticate a client by its API key, or the operator by the token.

pub(crate) mod access;
pub(crate) mod api_key_auth;
pub(crate) mod audit_context;
pub(crate) mod bearer;
pub(crate) mod client_address;
pub(crate) mod rate_headers;

use self::bearer::NoBearer;
use crate::application::caller::Caller;
use crate::application::caller::payer::Payer;
use crate::application::core::audit_context::AuditContext;
use crate::application::error::Error;
use crate::application::people::sign_in;
use crate::application::services::AccountService;
use crate::application::submission::admission::CachedPayer;
use crate::web::problem::{Code, Problem};
use actix_web::{HttpRequest, web};
use tintype_storage::domain::audit_log::Actor;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::Tier;

/// A client with a valid key.
pub struct Principal {
    pub caller: Payer,
}

impl Principal {
    /// Refuses a call over the rate limit. Authentication counted the call; the refusal comes at its step in the order of checks.
    pub fn admit(&self) -> Result<(), Problem> {
        Ok(self.caller.check_rate()?)
    }

    /// Checks the key again before the response to a call that has waited.
    ///
    /// # Errors
    /// The key is no longer valid.
    pub async fn recheck(
        &self,
        request: &HttpRequest,
        accounts: &AccountService,
    ) -> Result<(), Problem> {
        let checked = api_key_auth::recheck(accounts, &self.caller).await;
        // A refusal must not reveal the limits of the key.
        Ok(checked.inspect_err(|_| rate_headers::omit(request))?)
    }
}

/// A client authenticated by the cached key if there is one, which saves a read.
pub enum CachedPrincipal {
    Current(Payer),
    Cached(CachedPayer),
}

impl CachedPrincipal {
    pub fn is_cached(&self) -> bool {
        matches!(self, Self::Cached(_))
    }

    /// Reads the key, unless this call has already read it.
    ///
    /// # Errors
    /// The key is no longer valid.
    pub async fn current(&self, request: &HttpRequest) -> Result<Payer, Problem> {
        match self {
            Self::Current(caller) => Ok(caller.clone()),
            Self::Cached(caller) => {
                let accounts = service(request)?;
                let token = bearer(request, "<API_KEY>")?;
                let current = api_key_auth::reauthenticate(request, accounts, token, caller);
                Ok(Box::pin(current).await?)
            }
        }
    }

    pub fn account(&self) -> AccountId {
        match self {
            Self::Current(caller) => caller.account(),
            Self::Cached(caller) => caller.account(),
        }
    }

    /// Refuses a model that the key is not scoped for.
    pub fn check_scope(&self, tier: Tier) -> Result<(), Error> {
        match self {
            Self::Current(caller) => caller.check_scope(tier),
            Self::Cached(caller) => caller.check_scope(tier),
        }
    }

    /// Refuses a call over the rate limit.
    pub fn check_rate(&self) -> Result<(), Error> {
        match self {
            Self::Current(caller) => caller.check_rate(),
            Self::Cached(caller) => caller.check_rate(),
        }
    }
}

/// Extractors that read a request with an asynchronous function.
macro_rules! impl_from_request {
    ($($name:ty: $read:path),+ $(,)?) => {$(
        impl actix_web::FromRequest for $name {
            type Error = crate::web::problem::Problem;
            type Future = futures_util::future::LocalBoxFuture<'static, Result<Self, Self::Error>>;

            fn from_request(
                request: &actix_web::HttpRequest,
                _: &mut actix_web::dev::Payload,
            ) -> Self::Future {
                Box::pin($read(request.clone()))
            }
        }
    )+};
}

pub(crate) use impl_from_request;

impl_from_request!(
    Principal: authenticate,
    CachedPrincipal: authenticate_cached,
);

fn unauthorized(detail: impl Into<String>) -> Problem {
    Problem::new(Code::Unauthorized, detail)
}

async fn authenticate(request: HttpRequest) -> Result<Principal, Problem> {
    let accounts = service(&request)?;
    let token = bearer(&request, "<API_KEY>")?;
    let caller = api_key_auth::authenticate(&request, accounts, token).await?;
    Ok(Principal { caller })
}

async fn authenticate_cached(request: HttpRequest) -> Result<CachedPrincipal, Problem> {
    let accounts = service(&request)?;
    let token = bearer(&request, "<API_KEY>")?;
    if let Some(caller) = api_key_auth::authenticate_unchecked(&request, accounts, token) {
        return Ok(CachedPrincipal::Cached(caller));
    }
    let caller = api_key_auth::authenticate(&request, accounts, token).await?;
    Ok(CachedPrincipal::Current(caller))
}

/// Requires the operator's token.
///
/// # Errors
/// 401 for a missing or wrong token, delayed after many failures
pub async fn authenticate_operator(request: &HttpRequest) -> Result<Caller, Problem> {
    let accounts = service(request)?;
    let token = bearer(request, "<OPERATOR_TOKEN>")?;
    let origin = audit_context::origin(request, accounts);
    let wrong = "the operator token is not valid";
    sign_in::check_admin_token(accounts, &origin, token, wrong).await?;
    let audit = AuditContext::new(Actor::Operator, &origin);
    Ok(Caller::operator(audit))
}

/// # Errors
/// `Internal` if the application has no such service
pub fn service<T: 'static>(request: &HttpRequest) -> Result<&web::Data<T>, Problem> {
    request.app_data().ok_or_else(|| {
        Problem::new(
            Code::Internal,
            "the service is misconfigured: a handler has no service",
        )
    })
}

fn bearer<'a>(request: &'a HttpRequest, placeholder: &str) -> Result<&'a str, Problem> {
    bearer::read(request.headers()).map_err(|fault| match fault {
        NoBearer::Missing => unauthorized(format!(
            "send the header `Authorization: Bearer {placeholder}`"
        )),
        NoBearer::Repeated => unauthorized("there is more than one Authorization header"),
        NoBearer::Malformed => unauthorized(format!(
            "the Authorization header must be `Bearer {placeholder}`"
        )),
    })
}
