//! The actor and the origin of a request, for the audit log.

use super::client_address::client_address;
use crate::application::core::audit_context::AuditContext;
use crate::application::core::call_origin::CallOrigin;
use crate::application::services::AccountService;
use crate::web::request_id::RequestId;
use actix_web::{HttpMessage as _, HttpRequest};
use tintype_storage::domain::audit_log::Actor;

pub fn origin(request: &HttpRequest, accounts: &AccountService) -> CallOrigin {
    let id = request.extensions().get::<RequestId>().cloned();
    CallOrigin {
        request: id.map(|it| it.as_str().to_owned()),
        address: client_address(request, accounts),
        peer: request.peer_addr().map(|it| it.ip().to_canonical()),
    }
}

pub fn from_request(
    actor: Actor,
    request: &HttpRequest,
    accounts: &AccountService,
) -> AuditContext {
    AuditContext::new(actor, &origin(request, accounts))
}
