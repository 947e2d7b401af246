//! The routes of all interfaces.

use crate::{compat, http, panel, reference};
use actix_web::web::ServiceConfig;

/// Adds all routes. The router tries them in this order, and each one with a parameter costs a search with a regular expression: so
/// the native interface, which gets most calls, comes first.
pub fn configure(service: &mut ServiceConfig) {
    service
        .configure(http::configure)
        .configure(compat::configure)
        .configure(panel::configure)
        .configure(reference::configure);
}
