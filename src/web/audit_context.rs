//! The actor and the origin of a request, for the audit log.

use super::client_address::client_address;
use super::request_id::RequestId;
use crate::application::audit_context::AuditContext;
use crate::application::call_origin::CallOrigin;
use crate::application::state::AppState;
use actix_web::{HttpMessage as _, HttpRequest};
use tintype_storage::domain::audit_log::Actor;

pub fn origin(request: &HttpRequest, state: &AppState) -> CallOrigin {
    let id = request.extensions().get::<RequestId>().cloned();
    CallOrigin {
        request: id.map(|it| it.as_str().to_owned()),
        address: client_address(request, state),
        peer: request.peer_addr().map(|it| it.ip().to_canonical()),
    }
}

pub fn of(actor: Actor, request: &HttpRequest, state: &AppState) -> AuditContext {
    AuditContext::new(actor, &origin(request, state))
}
