//! `/v1/responses`: the tool `image_generation` of OpenAI's Responses API. A response is a job.

mod creation;
mod input;
mod lookup;
mod object;
mod request;
mod stream;

use super::unknown_paths::{guarded, not_found};
use actix_web::web;

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(guarded(web::resource("/v1/responses"), "POST").post(creation::create))
        // They have the form of an id.
        .service(
            web::resource(["/v1/responses/compact", "/v1/responses/input_tokens"])
                .default_service(web::to(not_found)),
        )
        .service(
            guarded(web::resource("/v1/responses/{response}"), "GET")
                .get(lookup::show)
                .delete(lookup::refuse_deletion),
        )
        .service(
            guarded(web::resource("/v1/responses/{response}/cancel"), "POST").post(lookup::cancel),
        )
        .service(
            web::resource("/v1/responses/{response}/input_items")
                .default_service(web::to(lookup::refuse_input_items)),
        )
        .service(web::resource("/v1/responses{rest:(/.*)?}").default_service(web::to(not_found)));
}
