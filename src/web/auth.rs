//! Who calls: a client by its API key, or the operator by the token.

use super::admission::{self, NotAdmitted};
use super::audit_context;
use super::problem::{Code, Problem};
use crate::application::audit_context::AuditContext;
use crate::application::caller::Caller;
use crate::application::state::AppState;
use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{FromRequest, HttpRequest, web};
use sha2::{Digest, Sha256};
use std::future::{Ready, ready};
use tintype_storage::domain::audit_log::Actor;

/// A client that has shown a valid key.
pub struct Principal {
    pub caller: Caller,
}

impl Principal {
    /// Refuses a call that is one too many for the key's rate. The call was counted when it came; that it is refused is told
    /// where the order of checks has it.
    pub fn admit(&self) -> Result<(), Problem> {
        Ok(self.caller.check_rate()?)
    }
}

/// Whoever has shown the operator's token.
pub struct Operator {
    /// As the audit log is to name them.
    pub author: AuditContext,
}

impl FromRequest for Principal {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(authenticate(request))
    }
}

impl FromRequest for Operator {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(authenticate_operator(request))
    }
}

fn unauthorized(detail: impl Into<String>) -> Problem {
    Problem::new(Code::Unauthorized, detail)
}

fn authenticate(request: &HttpRequest) -> Result<Principal, Problem> {
    let state = state_of(request)?;
    let token = bearer(request.headers(), "<API_KEY>")?;
    let caller = admission::admit(request, state, token).map_err(|refused| match refused {
        NotAdmitted::Unknown | NotAdmitted::Key(_) => unauthorized(refused.to_string()),
        // Not 401: the key is a good one, and another would be refused there as well.
        NotAdmitted::Address(_) => Problem::new(Code::AddressNotAllowed, refused.to_string()),
        NotAdmitted::Store(error) => error.into(),
    })?;
    Ok(Principal { caller })
}

fn authenticate_operator(request: &HttpRequest) -> Result<Operator, Problem> {
    let state = state_of(request)?;
    let token = bearer(request.headers(), "<ADMIN_TOKEN>")?;
    // Hashes are compared: how long that takes says nothing about the token.
    let shown: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    if shown == state.admin_token {
        Ok(Operator {
            author: audit_context::of(Actor::Operator, request, state),
        })
    } else {
        Err(unauthorized("the admin token is not valid"))
    }
}

fn state_of(request: &HttpRequest) -> Result<&web::Data<AppState>, Problem> {
    request
        .app_data()
        .ok_or_else(|| Problem::new(Code::Internal, "the service is not set up"))
}

/// The credentials of `Authorization: Bearer`. What was sent is never repeated in the answer.
fn bearer<'a>(headers: &'a HeaderMap, placeholder: &str) -> Result<&'a str, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION);
    let Some(value) = values.next() else {
        return Err(unauthorized(format!(
            "send the header `Authorization: Bearer {placeholder}`"
        )));
    };
    if values.next().is_some() {
        return Err(unauthorized("there is more than one Authorization header"));
    }
    let malformed = || {
        unauthorized(format!(
            "the Authorization header must be `Bearer {placeholder}`"
        ))
    };
    let (scheme, token) = value
        .to_str()
        .map_err(|_| malformed())?
        .split_once(' ')
        .ok_or_else(malformed)?;
    // The scheme's case does not matter (RFC 9110, section 11.1).
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(malformed());
    }
    Ok(token.trim_start_matches(' '))
}
