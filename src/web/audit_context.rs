//! Who is behind a request, as the audit log names them.

use super::client_address::client_address;
use super::request_id::RequestId;
use crate::application::audit_context::AuditContext;
use crate::application::state::AppState;
use actix_web::{HttpMessage as _, HttpRequest};
use tintype_storage::domain::audit_log::Actor;

/// The holder of the operator's token, or a person, with the request's id and address.
pub fn of(actor: Actor, request: &HttpRequest, state: &AppState) -> AuditContext {
    let id = request.extensions().get::<RequestId>().cloned();
    let address = client_address(request, &state.config.server.trusted_proxies);
    AuditContext::new(actor, id.map(|it| it.as_str().to_owned()), address)
}
