//! Which path of the panel is handled where.

use super::guard::same_site;
use super::{
    account, audit, events, home, invitations, ledger, overview, pages, people, pictures,
    playground, sent, sessions,
};
use crate::http::problem::{Code, Problem};
use actix_web::middleware::from_fn;
use actix_web::{HttpResponse, Resource, web};

/// Adds the panel's routes.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(web::resource(["/panel", "/panel/"]).route(web::get().to(pages::page)))
        .service(web::resource("/panel/assets/{name}").route(web::get().to(pages::asset)))
        .service(
            web::scope("/panel/api")
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

fn at(path: &str) -> Resource {
    web::resource(path).default_service(web::to(wrong_method))
}

/// What needs no session, or is about it.
fn of_visitors(api: &mut web::ServiceConfig) {
    api.service(
        at("/session")
            .route(web::get().to(sessions::show))
            .route(web::post().to(sessions::sign_in))
            .route(web::delete().to(sessions::sign_out)),
    )
    .service(at("/session/operator").route(web::post().to(sessions::sign_in_operator)))
    .service(at("/session/password").route(web::post().to(sessions::change_password)))
    .service(at("/sessions").route(web::delete().to(sessions::sign_out_everywhere)))
    .service(at("/invitation").route(web::post().to(invitations::look)))
    .service(at("/invitation/accept").route(web::post().to(invitations::accept)));
}

/// What is the operator's alone.
fn of_operator(api: &mut web::ServiceConfig) {
    api.service(
        at("/accounts")
            .route(web::get().to(home::list_accounts))
            .route(web::post().to(home::open_account)),
    )
    .service(at("/jobs").route(web::get().to(home::list_jobs)))
    .service(at("/stats").route(web::get().to(home::show_stats)))
    .service(at("/settings").route(web::get().to(home::settings)))
    .service(at("/audit").route(web::get().to(audit::list)))
    .service(at("/events").route(web::get().to(events::of_service)))
    .service(
        at("/pause")
            .route(web::get().to(home::show_pause))
            .route(web::put().to(home::set_pause))
            .route(web::patch().to(home::change_pause)),
    );
}

/// What concerns one account. Each handler takes the guard.
fn of_account(api: &mut web::ServiceConfig) {
    api.service(at("").route(web::get().to(account::show)))
        .service(at("/overview").route(web::get().to(overview::show)))
        .service(at("/events").route(web::get().to(events::of_account)))
        .service(at("/models").route(web::get().to(playground::models)))
        .service(at("/generations/{tier}").route(web::post().to(playground::create)))
        .configure(jobs)
        .configure(keys)
        .configure(webhooks)
        .service(at("/transactions").route(web::get().to(account::transactions)))
        .service(at("/ledger.csv").route(web::get().to(ledger::csv)))
        .service(at("/deposits").route(web::post().to(home::deposit)))
        .service(
            at("/people")
                .route(web::get().to(people::list))
                .route(web::post().to(people::invite)),
        )
        .service(
            at("/people/{person_id}")
                .route(web::patch().to(people::change))
                .route(web::delete().to(people::remove)),
        )
        .service(at("/people/{person_id}/invitation").route(web::post().to(people::invite_again)))
        .service(at("/people/{person_id}/sessions").route(web::delete().to(people::sign_out)));
}

fn jobs(api: &mut web::ServiceConfig) {
    api.service(at("/jobs").route(web::get().to(account::list_jobs)))
        .service(
            at("/jobs/{job_id}")
                .route(web::get().to(account::show_job))
                .route(web::delete().to(account::cancel)),
        )
        .service(at("/jobs/{job_id}/picture").route(web::get().to(pictures::picture)))
        .service(at("/jobs/{job_id}/thumbnail").route(web::get().to(pictures::thumbnail)));
}

fn keys(api: &mut web::ServiceConfig) {
    api.service(
        at("/keys")
            .route(web::get().to(account::list_keys))
            .route(web::post().to(account::create_key)),
    )
    .service(
        at("/keys/{key_id}")
            .route(web::get().to(account::show_key))
            .route(web::patch().to(account::change_key))
            .route(web::delete().to(account::remove_key)),
    )
    .service(at("/keys/{key_id}/rotate").route(web::post().to(account::rotate_key)));
}

fn webhooks(api: &mut web::ServiceConfig) {
    api.service(
        at("/webhooks")
            .route(web::get().to(account::list_webhooks))
            .route(web::post().to(account::register_webhook)),
    )
    .service(
        at("/webhooks/{webhook_id}")
            .route(web::patch().to(account::change_webhook))
            .route(web::delete().to(account::remove_webhook)),
    )
    .service(at("/webhooks/{webhook_id}/secret").route(web::post().to(account::show_secret)))
    .service(at("/webhooks/{webhook_id}/test").route(web::post().to(account::test_webhook)))
    .service(
        at("/webhooks/{webhook_id}/rotate-secret").route(web::post().to(account::rotate_secret)),
    )
    .service(
        at("/webhooks/{webhook_id}/redeliver").route(web::post().to(account::redeliver_failed)),
    )
    .service(at("/deliveries").route(web::get().to(account::list_deliveries)))
    .service(at("/deliveries/{delivery_id}").route(web::get().to(account::show_delivery)))
    .service(at("/deliveries/{delivery_id}/sent").route(web::get().to(sent::list)))
    .service(at("/deliveries/{delivery_id}/redeliver").route(web::post().to(account::redeliver)));
}

async fn unknown() -> Result<HttpResponse, Problem> {
    let detail = "there is nothing at this path of the panel";
    Err(Problem::new(Code::NotFound, detail))
}

async fn wrong_method() -> Result<HttpResponse, Problem> {
    let detail = "the panel has no such call";
    Err(Problem::new(Code::MethodNotAllowed, detail))
}
