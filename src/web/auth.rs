//! Who calls: a client by its API key, or the operator by the token.

use super::admission::{self, NotAdmitted};
use super::audit_context;
use super::bearer::{self, NoBearer};
use super::problem::{Code, Problem};
use crate::application::audit_context::AuditContext;
use crate::application::payer::Payer;
use crate::application::sign_in;
use crate::application::state::AppState;
use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::audit_log::Actor;

/// A client that has shown a valid key.
pub struct Principal {
    pub caller: Payer,
}

impl Principal {
    /// Refuses a call that is one too many for the key's rate. The call was counted when it came; that it is refused is told
    /// where the order of checks has it.
    pub fn admit(&self) -> Result<(), Problem> {
        Ok(self.caller.check_rate()?)
    }
}

/// A client by what is remembered of its key. Where several nodes share the store, another node may have changed the key since, so only a
/// decision that reads the key anew may accept what this client asks for. It saves such a call a read.
pub struct RecognizedPrincipal {
    pub caller: Payer,
}

impl RecognizedPrincipal {
    /// Reads the key now, unless that has been done for this call.
    ///
    /// # Errors
    /// The key is good no more.
    pub async fn read_anew(&self, request: &HttpRequest) -> Result<Payer, Problem> {
        if !self.caller.is_remembered {
            return Ok(self.caller.clone());
        }
        let state = state_of(request)?;
        let token = bearer(request, "<API_KEY>")?;
        let read = admission::read_anew(request, state, token, &self.caller).await;
        read.map_err(refused)
    }
}

/// Whoever has shown the operator's token.
pub struct Operator {
    /// As the audit log is to name them.
    pub author: AuditContext,
}

impl FromRequest for Principal {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        Box::pin(authenticate(request.clone()))
    }
}

impl FromRequest for RecognizedPrincipal {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        Box::pin(recognize(request.clone()))
    }
}

impl FromRequest for Operator {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        Box::pin(authenticate_operator(request.clone()))
    }
}

fn unauthorized(detail: impl Into<String>) -> Problem {
    Problem::new(Code::Unauthorized, detail)
}

async fn authenticate(request: HttpRequest) -> Result<Principal, Problem> {
    let state = state_of(&request)?;
    let token = bearer(&request, "<API_KEY>")?;
    let admitted = admission::admit(&request, state, token).await;
    let caller = admitted.map_err(refused)?;
    Ok(Principal { caller })
}

async fn recognize(request: HttpRequest) -> Result<RecognizedPrincipal, Problem> {
    let state = state_of(&request)?;
    let token = bearer(&request, "<API_KEY>")?;
    let recognized = admission::recognize(&request, state, token).await;
    let caller = recognized.map_err(refused)?;
    Ok(RecognizedPrincipal { caller })
}

fn refused(refused: NotAdmitted) -> Problem {
    match refused {
        NotAdmitted::Unknown | NotAdmitted::Key(_) => unauthorized(refused.to_string()),
        // Not 401: the key is a good one, and another would be refused there as well.
        NotAdmitted::Address(_) => Problem::new(Code::AddressNotAllowed, refused.to_string()),
        NotAdmitted::Store(error) => error.into(),
    }
}

async fn authenticate_operator(request: HttpRequest) -> Result<Operator, Problem> {
    let state = state_of(&request)?;
    let token = bearer(&request, "<ADMIN_TOKEN>")?;
    let origin = audit_context::origin(&request, state);
    let wrong = "the admin token is not valid";
    sign_in::check_admin_token(state, &origin, token, wrong).await?;
    Ok(Operator {
        author: AuditContext::new(Actor::Operator, &origin),
    })
}

/// What every handler may use.
pub fn state_of(request: &HttpRequest) -> Result<&web::Data<AppState>, Problem> {
    request
        .app_data()
        .ok_or_else(|| Problem::new(Code::Internal, "the service is not set up"))
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
