//! The routes of the panel.

use super::guard::{AUTHENTICATOR, same_site};
use super::{
    account_list, audit, batches, events, job_images, jobs, key, ledger, overview, owners, pages,
    playground, queue, service_usage, sessions, settings, stats, usage, webhook_views,
};
use crate::application::settings::Settings;
use crate::management::{self, accounts, deliveries, keys, people, webhooks};
use crate::web::no_store;
use crate::web::problem::catch_panic::GuardedResource;
use crate::web::problem::{Code, HttpResult, Problem};
use crate::web::read_only::read_only;
use actix_web::http::{Uri, header};
use actix_web::middleware::from_fn;
use actix_web::{HttpResponse, web};

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(read_only(web::resource("/"), to_panel))
        .service(read_only(web::resource("/panel"), pages::page))
        // The page names its assets relative to `/panel`.
        .service(web::redirect("/panel/", "../panel"))
        .service(read_only(
            web::resource("/panel/assets/{name}"),
            pages::asset,
        ))
        // The hexadecimal tag of all assets. Not below `/panel/assets`: base.css, which other pages share, names the fonts there.
        .service(
            read_only(
                web::resource("/panel/{tag:[0-9a-f]{24}}/{name}"),
                pages::tagged_asset,
            )
            .wrap(no_store::by_default()),
        )
        .service(
            web::scope("/panel/api")
                .app_data(AUTHENTICATOR)
                .wrap(from_fn(same_site))
                .wrap(no_store::by_default())
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

/// A browser need not have requested the root with a slash behind the prefix of a proxy, so a relative URL could be wrong.
async fn to_panel(settings: web::Data<Settings>) -> HttpResponse {
    let public: Uri = settings.public_url.parse().unwrap_or_default();
    let panel = format!("{}/panel", public.path().trim_end_matches('/'));
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, panel))
        .finish()
}

fn at(path: &str) -> GuardedResource {
    GuardedResource::of(web::resource(path))
}

/// Sign-in, sessions and invitations.
fn of_visitors(api: &mut web::ServiceConfig) {
    api.service(
        at("/session")
            .get(sessions::show)
            .post(sessions::sign_in)
            .delete(sessions::sign_out),
    )
    .service(at("/session/operator").post(sessions::sign_in_operator))
    .service(at("/session/password").post(sessions::change_password))
    .service(at("/sessions").delete(sessions::sign_out_everywhere))
    .service(at("/invitation").post(sessions::show_invitation))
    .service(at("/invitation/accept").post(sessions::accept_invitation))
    .service(at("/sign-in").get(sessions::sign_in_options));
}

fn of_operator(api: &mut web::ServiceConfig) {
    api.service(at("/accounts").get(account_list::list).post(accounts::open))
        .service(at("/jobs").get(jobs::list_all))
        .service(at("/jobs/{job_id}/account").get(owners::of_job))
        .service(at("/batches/{batch_id}/account").get(owners::of_batch))
        .service(at("/keys/{key_id}/account").get(owners::of_key))
        .service(at("/stats").get(stats::show))
        .service(at("/nodes").get(management::service::nodes))
        .service(at("/backends/{name}/test").post(management::service::test_backend))
        .service(at("/operator-webhook").get(webhook_views::of_operator))
        .service(at("/operator-webhook/test").post(webhooks::test_operator))
        .service(at("/settings").get(settings::show))
        .service(at("/queue").get(queue::list).delete(queue::cancel))
        .service(at("/usage").get(service_usage::show))
        .service(at("/usage.csv").get(service_usage::csv))
        .service(at("/audit").get(audit::list))
        .service(at("/events").get(events::of_service))
        .service(
            at("/pause")
                .get(management::service::show_pause)
                .put(management::service::change_pause)
                .patch(management::service::change_pause),
        );
}

/// Each handler takes an extractor that checks access to the account.
fn of_account(api: &mut web::ServiceConfig) {
    api.service(at("").get(accounts::show).patch(accounts::change))
        .service(at("/overview").get(overview::show))
        .service(at("/events").get(events::of_account))
        .service(at("/models").get(playground::models))
        .service(at("/generations/{tier}").post(playground::create))
        .configure(of_jobs)
        .configure(of_batches)
        .configure(of_keys)
        .configure(of_webhooks)
        .service(at("/transactions").get(ledger::list))
        .service(at("/usage").get(usage::show))
        .service(at("/usage.csv").get(usage::csv))
        .service(at("/ledger.csv").get(ledger::csv))
        .service(at("/deposits").post(accounts::deposit))
        .service(at("/people").get(people::list).post(people::invite))
        .service(
            at("/people/{person_id}")
                .patch(people::change)
                .delete(people::remove),
        )
        .service(at("/people/{person_id}/invitation").post(people::invite_again))
        .service(at("/people/{person_id}/sessions").delete(people::sign_out));
}

fn of_jobs(api: &mut web::ServiceConfig) {
    api.service(at("/jobs").get(jobs::list_jobs))
        .service(
            at("/jobs/{job_id}")
                .get(jobs::show_job)
                .delete(management::jobs::cancel),
        )
        .service(
            at("/jobs/{job_id}/favourite")
                .put(jobs::add_favourite)
                .delete(jobs::remove_favourite),
        )
        .service(at("/jobs/{job_id}/preview").get(job_images::preview))
        .service(
            at("/jobs/{job_id}/picture")
                .get(job_images::image)
                .delete(management::jobs::delete_image),
        )
        .service(at("/jobs/{job_id}/content").delete(management::jobs::erase));
}

fn of_batches(api: &mut web::ServiceConfig) {
    api.service(at("/batches").get(batches::list).post(batches::create))
        .service(
            at("/batches/{batch_id}")
                .get(batches::show)
                .delete(batches::cancel),
        )
        .service(at("/batches/{batch_id}/jobs").get(batches::list_jobs))
        .service(at("/batches/{batch_id}/results").get(batches::results))
        .service(at("/batches/{batch_id}/failed").get(batches::failed_jobs))
        .service(at("/batches/{batch_id}/pictures").get(batches::images));
}

fn of_keys(api: &mut web::ServiceConfig) {
    api.service(at("/keys").get(keys::list).post(keys::create))
        .service(
            at("/keys/{key_id}")
                .get(key::show)
                .patch(keys::change)
                .delete(keys::remove),
        )
        .service(at("/keys/{key_id}/rotate").post(keys::rotate));
}

fn of_webhooks(api: &mut web::ServiceConfig) {
    api.service(
        at("/webhooks")
            .get(webhooks::list_without_secrets)
            .post(webhooks::register),
    )
    .service(
        at("/webhooks/{webhook_id}")
            .patch(webhooks::change)
            .delete(webhooks::remove),
    )
    .service(at("/webhooks/{webhook_id}/secret").post(webhooks::show))
    .service(at("/webhooks/{webhook_id}/test").post(webhooks::test))
    .service(at("/webhooks/{webhook_id}/rotate-secret").post(webhooks::rotate))
    .service(
        at("/webhooks/{webhook_id}/redeliver")
            .get(webhook_views::count_failed)
            .post(deliveries::redeliver_failed),
    )
    .service(at("/webhooks/{webhook_id}/verify").post(webhook_views::verify))
    .service(at("/webhook-outcomes").get(webhook_views::outcomes))
    .service(at("/deliveries").get(deliveries::list_of_account))
    .service(at("/deliveries/{delivery_id}").get(deliveries::show))
    .service(at("/deliveries/{delivery_id}/sent").get(webhook_views::sent_requests))
    .service(at("/deliveries/{delivery_id}/redeliver").post(deliveries::redeliver));
}

async fn unknown() -> HttpResult {
    let detail = "there is nothing at this path of the panel";
    Err(Problem::new(Code::NotFound, detail))
}
