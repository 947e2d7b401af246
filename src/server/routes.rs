//! The routes of all interfaces.

use crate::{compat, http, panel, reference};
use actix_web::web::ServiceConfig;

/// Adds all routes. The native interface comes last, because it answers every remaining path.
pub fn configure(service: &mut ServiceConfig) {
    service
        .configure(http::configure)
        .configure(compat::configure)
        .configure(panel::configure)
        .configure(reference::configure);
}
