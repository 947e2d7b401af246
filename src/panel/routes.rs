//! The routes of the panel.

use super::guard::{AUTHENTICATOR, same_site};
use super::{
    audit, batches, events, invitations, jobs, key, ledger, overview, pages, pictures, playground,
    queue, sent_requests, service, service_usage, sessions, settings, usage, webhook_console,
    webhook_outcomes,
};
use crate::management::{
    self, accounts, backends, deliveries, deposits, keys, nodes, pause, people, webhooks,
};
use crate::web::catch_panic::Walled;
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::middleware::from_fn;
use actix_web::{HttpResponse, Resource, web};

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            web::resource("/")
                .route(web::get().to(to_panel))
                .route(web::head().to(to_panel))
                .default_service(web::to(unknown)),
        )
        .service(web::resource(["/panel", "/panel/"]).route(web::get().to(Walled(pages::page))))
        .service(web::resource("/panel/assets/{name}").route(web::get().to(Walled(pages::asset))))
        .service(
            web::scope("/panel/api")
                .app_data(AUTHENTICATOR)
                .wrap(from_fn(same_site))
                .configure(of_visitors)
                .configure(of_operator)
                .service(
                    web::scope("/accounts/{account_id}")
                        .configure(of_account)
                        .default_service(web::to(unknown)),
                )
                .default_service(web::to(unknown)),
        );
}

async fn to_panel() -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, "/panel"))
        .finish()
}

fn at(path: &str) -> Resource {
    web::resource(path).default_service(web::to(wrong_method))
}

/// Sign-in, sessions and invitations.
fn of_visitors(api: &mut web::ServiceConfig) {
    api.service(
        at("/session")
            .route(web::get().to(Walled(sessions::show)))
            .route(web::post().to(Walled(sessions::sign_in)))
            .route(web::delete().to(Walled(sessions::sign_out))),
    )
    .service(at("/session/operator").route(web::post().to(Walled(sessions::sign_in_operator))))
    .service(at("/session/password").route(web::post().to(Walled(sessions::change_password))))
    .service(at("/sessions").route(web::delete().to(Walled(sessions::sign_out_everywhere))))
    .service(at("/invitation").route(web::post().to(Walled(invitations::show))))
    .service(at("/invitation/accept").route(web::post().to(Walled(invitations::accept))));
}

fn of_operator(api: &mut web::ServiceConfig) {
    api.service(
        at("/accounts")
            .route(web::get().to(Walled(accounts::list)))
            .route(web::post().to(Walled(accounts::open))),
    )
    .service(at("/jobs").route(web::get().to(Walled(jobs::list_all))))
    .service(at("/stats").route(web::get().to(Walled(service::show))))
    .service(at("/nodes").route(web::get().to(Walled(nodes::list))))
    .service(at("/backends/{name}/test").route(web::post().to(Walled(backends::test))))
    .service(at("/settings").route(web::get().to(Walled(settings::show))))
    .service(
        at("/queue")
            .route(web::get().to(Walled(queue::list)))
            .route(web::delete().to(Walled(queue::cancel))),
    )
    .service(at("/usage").route(web::get().to(Walled(service_usage::show))))
    .service(at("/usage.csv").route(web::get().to(Walled(service_usage::csv))))
    .service(at("/audit").route(web::get().to(Walled(audit::list))))
    .service(at("/events").route(web::get().to(Walled(events::of_service))))
    .service(
        at("/pause")
            .route(web::get().to(Walled(pause::show)))
            .route(web::put().to(Walled(pause::set)))
            .route(web::patch().to(Walled(pause::change))),
    );
}

/// Each handler takes an extractor that checks access to the account.
fn of_account(api: &mut web::ServiceConfig) {
    api.service(
        at("")
            .route(web::get().to(Walled(accounts::show)))
            .route(web::patch().to(Walled(accounts::change))),
    )
    .service(at("/overview").route(web::get().to(Walled(overview::show))))
    .service(at("/events").route(web::get().to(Walled(events::of_account))))
    .service(at("/models").route(web::get().to(Walled(playground::models))))
    .service(at("/generations/{tier}").route(web::post().to(Walled(playground::create))))
    .configure(of_jobs)
    .configure(of_batches)
    .configure(of_keys)
    .configure(of_webhooks)
    .service(at("/transactions").route(web::get().to(Walled(ledger::list))))
    .service(at("/usage").route(web::get().to(Walled(usage::show))))
    .service(at("/usage.csv").route(web::get().to(Walled(usage::csv))))
    .service(at("/ledger.csv").route(web::get().to(Walled(ledger::csv))))
    .service(at("/deposits").route(web::post().to(Walled(deposits::create))))
    .service(
        at("/people")
            .route(web::get().to(Walled(people::list)))
            .route(web::post().to(Walled(people::invite))),
    )
    .service(
        at("/people/{person_id}")
            .route(web::patch().to(Walled(people::change)))
            .route(web::delete().to(Walled(people::remove))),
    )
    .service(
        at("/people/{person_id}/invitation").route(web::post().to(Walled(people::invite_again))),
    )
    .service(at("/people/{person_id}/sessions").route(web::delete().to(Walled(people::sign_out))));
}

fn of_jobs(api: &mut web::ServiceConfig) {
    api.service(at("/jobs").route(web::get().to(Walled(jobs::list_jobs))))
        .service(
            at("/jobs/{job_id}")
                .route(web::get().to(Walled(jobs::show_job)))
                .route(web::delete().to(Walled(jobs::cancel))),
        )
        .service(
            at("/jobs/{job_id}/favourite")
                .route(web::put().to(Walled(jobs::add_favourite)))
                .route(web::delete().to(Walled(jobs::remove_favourite))),
        )
        .service(at("/jobs/{job_id}/preview").route(web::get().to(Walled(pictures::preview))))
        .service(at("/jobs/{job_id}/picture").route(web::get().to(Walled(pictures::picture))));
}

fn of_batches(api: &mut web::ServiceConfig) {
    api.service(
        at("/batches")
            .route(web::get().to(Walled(management::batches::list)))
            .route(web::post().to(Walled(batches::create))),
    )
    .service(
        at("/batches/{batch_id}")
            .route(web::get().to(Walled(batches::show)))
            .route(web::delete().to(Walled(batches::cancel))),
    )
    .service(at("/batches/{batch_id}/results").route(web::get().to(Walled(batches::results))))
    .service(at("/batches/{batch_id}/failed").route(web::get().to(Walled(batches::failed))))
    .service(at("/batches/{batch_id}/pictures").route(web::get().to(Walled(batches::pictures))));
}

fn of_keys(api: &mut web::ServiceConfig) {
    api.service(
        at("/keys")
            .route(web::get().to(Walled(keys::list)))
            .route(web::post().to(Walled(keys::create))),
    )
    .service(
        at("/keys/{key_id}")
            .route(web::get().to(Walled(key::show)))
            .route(web::patch().to(Walled(keys::change)))
            .route(web::delete().to(Walled(keys::remove))),
    )
    .service(at("/keys/{key_id}/rotate").route(web::post().to(Walled(keys::rotate))));
}

fn of_webhooks(api: &mut web::ServiceConfig) {
    api.service(
        at("/webhooks")
            .route(web::get().to(Walled(webhooks::list_without_secrets)))
            .route(web::post().to(Walled(webhooks::register))),
    )
    .service(
        at("/webhooks/{webhook_id}")
            .route(web::patch().to(Walled(webhooks::change)))
            .route(web::delete().to(Walled(webhooks::remove))),
    )
    .service(at("/webhooks/{webhook_id}/secret").route(web::post().to(Walled(webhooks::show))))
    .service(at("/webhooks/{webhook_id}/test").route(web::post().to(Walled(webhooks::test))))
    .service(
        at("/webhooks/{webhook_id}/rotate-secret").route(web::post().to(Walled(webhooks::rotate))),
    )
    .service(
        at("/webhooks/{webhook_id}/redeliver")
            .route(web::get().to(Walled(webhook_console::count_failed)))
            .route(web::post().to(Walled(deliveries::redeliver_failed))),
    )
    .service(
        at("/webhooks/{webhook_id}/verify").route(web::post().to(Walled(webhook_console::verify))),
    )
    .service(at("/webhook-outcomes").route(web::get().to(Walled(webhook_outcomes::show))))
    .service(at("/deliveries").route(web::get().to(Walled(deliveries::list_of_account))))
    .service(at("/deliveries/{delivery_id}").route(web::get().to(Walled(deliveries::show))))
    .service(at("/deliveries/{delivery_id}/sent").route(web::get().to(Walled(sent_requests::list))))
    .service(
        at("/deliveries/{delivery_id}/redeliver")
            .route(web::post().to(Walled(deliveries::redeliver))),
    );
}

async fn unknown() -> Result<HttpResponse, Problem> {
    let detail = "there is nothing at this path of the panel";
    Err(Problem::new(Code::NotFound, detail))
}

async fn wrong_method() -> Result<HttpResponse, Problem> {
    let detail = "the panel has no such call";
    Err(Problem::new(Code::MethodNotAllowed, detail))
}
