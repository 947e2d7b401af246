//! The routes of the panel.

use super::guard::{AUTHENTICATOR, same_site};
use super::{
    account_list, audit, batches, events, invitations, job_images, jobs, key, ledger,
    operator_webhook, overview, owners, pages, playground, queue, sent_requests, service,
    service_usage, sessions, settings, usage, webhook_console, webhook_outcomes,
};
use crate::management::{
    accounts, backends, deliveries, deposits, keys, nodes, pause, people, webhooks,
};
use crate::web::catch_panic::CatchPanic;
use crate::web::problem::{Code, HttpResult, Problem};
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
        .service(web::resource(["/panel", "/panel/"]).route(web::get().to(CatchPanic(pages::page))))
        .service(
            web::resource("/panel/assets/{name}").route(web::get().to(CatchPanic(pages::asset))),
        )
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
            .route(web::get().to(CatchPanic(sessions::show)))
            .route(web::post().to(CatchPanic(sessions::sign_in)))
            .route(web::delete().to(CatchPanic(sessions::sign_out))),
    )
    .service(at("/session/operator").route(web::post().to(CatchPanic(sessions::sign_in_operator))))
    .service(at("/session/password").route(web::post().to(CatchPanic(sessions::change_password))))
    .service(at("/sessions").route(web::delete().to(CatchPanic(sessions::sign_out_everywhere))))
    .service(at("/invitation").route(web::post().to(CatchPanic(invitations::show))))
    .service(at("/invitation/accept").route(web::post().to(CatchPanic(invitations::accept))))
    .service(at("/sign-in").route(web::get().to(CatchPanic(sessions::sign_in_options))));
}

fn of_operator(api: &mut web::ServiceConfig) {
    api.service(
        at("/accounts")
            .route(web::get().to(CatchPanic(account_list::list)))
            .route(web::post().to(CatchPanic(accounts::open))),
    )
    .service(at("/jobs").route(web::get().to(CatchPanic(jobs::list_all))))
    .service(at("/jobs/{job_id}/account").route(web::get().to(CatchPanic(owners::of_job))))
    .service(at("/batches/{batch_id}/account").route(web::get().to(CatchPanic(owners::of_batch))))
    .service(at("/keys/{key_id}/account").route(web::get().to(CatchPanic(owners::of_key))))
    .service(at("/stats").route(web::get().to(CatchPanic(service::show))))
    .service(at("/nodes").route(web::get().to(CatchPanic(nodes::list))))
    .service(at("/backends/{name}/test").route(web::post().to(CatchPanic(backends::test))))
    .service(at("/operator-webhook").route(web::get().to(CatchPanic(operator_webhook::show))))
    .service(
        at("/operator-webhook/test").route(web::post().to(CatchPanic(webhooks::test_operator))),
    )
    .service(at("/settings").route(web::get().to(CatchPanic(settings::show))))
    .service(
        at("/queue")
            .route(web::get().to(CatchPanic(queue::list)))
            .route(web::delete().to(CatchPanic(queue::cancel))),
    )
    .service(at("/usage").route(web::get().to(CatchPanic(service_usage::show))))
    .service(at("/usage.csv").route(web::get().to(CatchPanic(service_usage::csv))))
    .service(at("/audit").route(web::get().to(CatchPanic(audit::list))))
    .service(at("/events").route(web::get().to(CatchPanic(events::of_service))))
    .service(
        at("/pause")
            .route(web::get().to(CatchPanic(pause::show)))
            .route(web::put().to(CatchPanic(pause::set)))
            .route(web::patch().to(CatchPanic(pause::change))),
    );
}

/// Each handler takes an extractor that checks access to the account.
fn of_account(api: &mut web::ServiceConfig) {
    api.service(
        at("")
            .route(web::get().to(CatchPanic(accounts::show)))
            .route(web::patch().to(CatchPanic(accounts::change))),
    )
    .service(at("/overview").route(web::get().to(CatchPanic(overview::show))))
    .service(at("/events").route(web::get().to(CatchPanic(events::of_account))))
    .service(at("/models").route(web::get().to(CatchPanic(playground::models))))
    .service(at("/generations/{tier}").route(web::post().to(CatchPanic(playground::create))))
    .configure(of_jobs)
    .configure(of_batches)
    .configure(of_keys)
    .configure(of_webhooks)
    .service(at("/transactions").route(web::get().to(CatchPanic(ledger::list))))
    .service(at("/usage").route(web::get().to(CatchPanic(usage::show))))
    .service(at("/usage.csv").route(web::get().to(CatchPanic(usage::csv))))
    .service(at("/ledger.csv").route(web::get().to(CatchPanic(ledger::csv))))
    .service(at("/deposits").route(web::post().to(CatchPanic(deposits::create))))
    .service(
        at("/people")
            .route(web::get().to(CatchPanic(people::list)))
            .route(web::post().to(CatchPanic(people::invite))),
    )
    .service(
        at("/people/{person_id}")
            .route(web::patch().to(CatchPanic(people::change)))
            .route(web::delete().to(CatchPanic(people::remove))),
    )
    .service(
        at("/people/{person_id}/invitation")
            .route(web::post().to(CatchPanic(people::invite_again))),
    )
    .service(
        at("/people/{person_id}/sessions").route(web::delete().to(CatchPanic(people::sign_out))),
    );
}

fn of_jobs(api: &mut web::ServiceConfig) {
    api.service(at("/jobs").route(web::get().to(CatchPanic(jobs::list_jobs))))
        .service(
            at("/jobs/{job_id}")
                .route(web::get().to(CatchPanic(jobs::show_job)))
                .route(web::delete().to(CatchPanic(jobs::cancel))),
        )
        .service(
            at("/jobs/{job_id}/favourite")
                .route(web::put().to(CatchPanic(jobs::add_favourite)))
                .route(web::delete().to(CatchPanic(jobs::remove_favourite))),
        )
        .service(at("/jobs/{job_id}/preview").route(web::get().to(CatchPanic(job_images::preview))))
        .service(at("/jobs/{job_id}/picture").route(web::get().to(CatchPanic(job_images::image))));
}

fn of_batches(api: &mut web::ServiceConfig) {
    api.service(
        at("/batches")
            .route(web::get().to(CatchPanic(batches::list)))
            .route(web::post().to(CatchPanic(batches::create))),
    )
    .service(
        at("/batches/{batch_id}")
            .route(web::get().to(CatchPanic(batches::show)))
            .route(web::delete().to(CatchPanic(batches::cancel))),
    )
    .service(at("/batches/{batch_id}/results").route(web::get().to(CatchPanic(batches::results))))
    .service(
        at("/batches/{batch_id}/failed").route(web::get().to(CatchPanic(batches::failed_jobs))),
    )
    .service(at("/batches/{batch_id}/pictures").route(web::get().to(CatchPanic(batches::images))));
}

fn of_keys(api: &mut web::ServiceConfig) {
    api.service(
        at("/keys")
            .route(web::get().to(CatchPanic(keys::list)))
            .route(web::post().to(CatchPanic(keys::create))),
    )
    .service(
        at("/keys/{key_id}")
            .route(web::get().to(CatchPanic(key::show)))
            .route(web::patch().to(CatchPanic(keys::change)))
            .route(web::delete().to(CatchPanic(keys::remove))),
    )
    .service(at("/keys/{key_id}/rotate").route(web::post().to(CatchPanic(keys::rotate))));
}

fn of_webhooks(api: &mut web::ServiceConfig) {
    api.service(
        at("/webhooks")
            .route(web::get().to(CatchPanic(webhooks::list_without_secrets)))
            .route(web::post().to(CatchPanic(webhooks::register))),
    )
    .service(
        at("/webhooks/{webhook_id}")
            .route(web::patch().to(CatchPanic(webhooks::change)))
            .route(web::delete().to(CatchPanic(webhooks::remove))),
    )
    .service(at("/webhooks/{webhook_id}/secret").route(web::post().to(CatchPanic(webhooks::show))))
    .service(at("/webhooks/{webhook_id}/test").route(web::post().to(CatchPanic(webhooks::test))))
    .service(
        at("/webhooks/{webhook_id}/rotate-secret")
            .route(web::post().to(CatchPanic(webhooks::rotate))),
    )
    .service(
        at("/webhooks/{webhook_id}/redeliver")
            .route(web::get().to(CatchPanic(webhook_console::count_failed)))
            .route(web::post().to(CatchPanic(deliveries::redeliver_failed))),
    )
    .service(
        at("/webhooks/{webhook_id}/verify")
            .route(web::post().to(CatchPanic(webhook_console::verify))),
    )
    .service(at("/webhook-outcomes").route(web::get().to(CatchPanic(webhook_outcomes::show))))
    .service(at("/deliveries").route(web::get().to(CatchPanic(deliveries::list_of_account))))
    .service(at("/deliveries/{delivery_id}").route(web::get().to(CatchPanic(deliveries::show))))
    .service(
        at("/deliveries/{delivery_id}/sent").route(web::get().to(CatchPanic(sent_requests::list))),
    )
    .service(
        at("/deliveries/{delivery_id}/redeliver")
            .route(web::post().to(CatchPanic(deliveries::redeliver))),
    );
}

async fn unknown() -> HttpResult {
    let detail = "there is nothing at this path of the panel";
    Err(Problem::new(Code::NotFound, detail))
}

async fn wrong_method() -> HttpResult {
    let detail = "the panel has no such call";
    Err(Problem::new(Code::MethodNotAllowed, detail))
}
