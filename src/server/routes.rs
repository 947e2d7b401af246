//! The routes of all interfaces.

use crate::{compat, http, panel, reference};
use actix_web::web::ServiceConfig;

/// Adds all routes. The router tries them in this order, and matches each path that has a parameter with a regular expression. The native
/// interface gets most calls, so it comes first.
pub fn configure(service: &mut ServiceConfig) {
    service
        .configure(http::configure)
        .configure(compat::configure)
        .configure(panel::configure)
        .configure(reference::configure);
}
