//! The operator interface under `/admin/v1`.

use super::api_router::{ApiPath, ApiRouter};
use super::openapi::operations::{
    accounts as of_accounts, batches as of_batches, deliveries as of_deliveries, keys as of_keys,
    operator_jobs, operator_service, people as of_people, service as of_service,
    webhooks as of_webhooks,
};
use super::openapi::{self, RequiredAuth};
use crate::management::{
    accounts, audit, deliveries, jobs, keys, people, service, statements, webhooks,
};
use crate::web::auth::access::Authenticator;
use crate::web::auth::authenticate_operator;

pub fn router() -> ApiRouter {
    let at = |path| ApiPath::new(RequiredAuth::AdminToken, path);
    let paths = [
        at("/accounts")
            .get(accounts::list, of_accounts::list)
            .post(accounts::open, of_accounts::open),
        at("/accounts/{account_id}")
            .get(accounts::show, of_accounts::show)
            .patch(accounts::change, of_accounts::change),
        at("/accounts/{account_id}/content").delete(accounts::erase, of_accounts::erase),
        at("/accounts/{account_id}/deposits").post(accounts::deposit, of_accounts::deposit),
        at("/accounts/{account_id}/transactions")
            .get(accounts::transactions, of_accounts::transactions),
        at("/statements").get(statements::list, of_accounts::statements),
        at("/accounts/{account_id}/batches").get(accounts::batches, of_batches::of_account),
        at("/accounts/{account_id}/keys")
            .get(keys::list, of_keys::list)
            .post(keys::create, of_keys::create),
        at("/keys/{key_id}")
            .get(keys::show, of_keys::show)
            .patch(keys::change, of_keys::change)
            .delete(keys::remove, of_keys::remove),
        at("/keys/{key_id}/rotate").post(keys::rotate, of_keys::rotate),
        at("/accounts/{account_id}/webhooks")
            .get(webhooks::list, of_webhooks::list)
            .post(webhooks::register, of_webhooks::register),
        at("/accounts/{account_id}/people")
            .get(people::list, of_people::list)
            .post(people::invite, of_people::invite),
        at("/accounts/{account_id}/people/{person_id}")
            .get(people::show, of_people::show)
            .patch(people::change, of_people::change)
            .delete(people::remove, of_people::remove),
        at("/accounts/{account_id}/people/{person_id}/invitation")
            .post(people::invite_again, of_people::invite_again),
        at("/accounts/{account_id}/people/{person_id}/sessions")
            .delete(people::sign_out, of_people::sign_out),
        at("/webhooks/{webhook_id}")
            .get(webhooks::show, of_webhooks::show)
            .patch(webhooks::change, of_webhooks::change)
            .delete(webhooks::remove, of_webhooks::remove),
        at("/webhooks/{webhook_id}/test").post(webhooks::test, of_webhooks::test),
        at("/webhooks/{webhook_id}/rotate-secret").post(webhooks::rotate, of_webhooks::rotate),
        at("/webhooks/{webhook_id}/redeliver")
            .post(deliveries::redeliver_failed, of_webhooks::redeliver),
        at("/operator-webhook/test").post(webhooks::test_operator, of_webhooks::test_operator),
        at("/deliveries").get(deliveries::list, of_deliveries::list),
        at("/deliveries/{delivery_id}").get(deliveries::show, of_deliveries::show),
        at("/deliveries/{delivery_id}/redeliver")
            .post(deliveries::redeliver, of_deliveries::redeliver),
        at("/jobs").get(jobs::list, operator_jobs::list),
        at("/jobs/{job_id}")
            .get(jobs::show, operator_jobs::show)
            .delete(jobs::cancel, operator_jobs::cancel),
        at("/jobs/{job_id}/image").delete(jobs::delete_image, operator_jobs::delete_image),
        at("/jobs/{job_id}/content").delete(jobs::erase, operator_jobs::erase),
        at("/stats").get(service::stats, operator_service::stats),
        at("/nodes").get(service::nodes, operator_service::nodes),
        at("/backends/{name}/test").post(service::test_backend, operator_service::test_backend),
        at("/pause")
            .get(service::show_pause, operator_service::show_pause)
            .put(service::change_pause, operator_service::set_pause)
            .patch(service::change_pause, operator_service::change_pause),
        at("/audit").get(audit::list, operator_service::audit),
        at("/export").get(service::export, operator_service::export),
        at("/backups/{taken_at}").put(service::record_backup, operator_service::set_backup),
        at("/openapi.json").get(openapi::operator, of_service::operator),
    ];
    ApiRouter::new("/admin/v1", paths.into())
}

pub const AUTHENTICATOR: Authenticator =
    Authenticator(|request| Box::pin(async move { authenticate_operator(&request).await }));
