//! The operator interface: accounts, money, keys and switches.

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod deliveries;
pub(crate) mod jobs;
mod key_body;
pub(crate) mod key_view;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod pause;
pub(crate) mod stats;
pub(crate) mod webhooks;

pub use accounts::create as open_account;
pub use keys::{issue as issue_key, withdraw as remove_key};

use super::routes::for_operator;
use actix_web::{Scope, web};

/// Adds the operator's routes.
pub fn routes(scope: Scope) -> Scope {
    scope
        .service(
            for_operator("/accounts", "GET, POST")
                .route(web::get().to(accounts::list))
                .route(web::post().to(accounts::open)),
        )
        .service(for_operator("/accounts/{account_id}", "GET").route(web::get().to(accounts::show)))
        .service(
            for_operator("/accounts/{account_id}/deposits", "POST")
                .route(web::post().to(accounts::deposit)),
        )
        .service(
            for_operator("/accounts/{account_id}/transactions", "GET")
                .route(web::get().to(accounts::transactions)),
        )
        .service(
            for_operator("/accounts/{account_id}/keys", "GET, POST")
                .route(web::get().to(keys::list))
                .route(web::post().to(keys::create)),
        )
        .service(
            for_operator("/keys/{key_id}", "DELETE, GET, PATCH")
                .route(web::get().to(keys::show))
                .route(web::patch().to(keys::change))
                .route(web::delete().to(keys::remove)),
        )
        .service(for_operator("/keys/{key_id}/rotate", "POST").route(web::post().to(keys::rotate)))
        .service(
            for_operator("/accounts/{account_id}/webhooks", "GET, POST")
                .route(web::get().to(webhooks::list))
                .route(web::post().to(webhooks::register)),
        )
        .service(
            for_operator("/webhooks/{webhook_id}", "DELETE, GET, PATCH")
                .route(web::get().to(webhooks::show))
                .route(web::patch().to(webhooks::change))
                .route(web::delete().to(webhooks::remove)),
        )
        .service(
            for_operator("/webhooks/{webhook_id}/test", "POST")
                .route(web::post().to(webhooks::test)),
        )
        .service(
            for_operator("/webhooks/{webhook_id}/rotate-secret", "POST")
                .route(web::post().to(webhooks::rotate)),
        )
        .service(
            for_operator("/webhooks/{webhook_id}/redeliver", "POST")
                .route(web::post().to(deliveries::redeliver_failed)),
        )
        .service(for_operator("/deliveries", "GET").route(web::get().to(deliveries::list)))
        .service(
            for_operator("/deliveries/{delivery_id}", "GET").route(web::get().to(deliveries::show)),
        )
        .service(
            for_operator("/deliveries/{delivery_id}/redeliver", "POST")
                .route(web::post().to(deliveries::redeliver)),
        )
        .service(for_operator("/jobs", "GET").route(web::get().to(jobs::list)))
        .service(
            for_operator("/jobs/{job_id}", "DELETE, GET")
                .route(web::get().to(jobs::show))
                .route(web::delete().to(jobs::cancel)),
        )
        .service(for_operator("/stats", "GET").route(web::get().to(stats::show)))
        .service(
            for_operator("/pause", "GET, PUT")
                .route(web::get().to(pause::show))
                .route(web::put().to(pause::set)),
        )
        .service(for_operator("/audit", "GET").route(web::get().to(audit::list)))
}
