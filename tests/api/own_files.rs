//! Download URLs of the service itself as input images. No test permits private addresses, so nothing is fetched.

use crate::support::batches::entry_with;
use crate::support::http::Request;
use crate::support::{Customer, Server, fox_with, options::Options};
use serde_json::{Value, json};
use std::time::Duration;

const FIELD: &str = "input_images_urls[0]";

fn image_url(server: &Server, customer: &Customer) -> (String, String) {
    let job = server.create(customer);
    let done = server.job_once(customer, &job, "done");
    let url = done["result"]["image_url"].as_str().unwrap();
    (job, url.to_owned())
}

fn call(server: &Server, customer: &Customer, url: &str) -> Request {
    let body = fox_with(json!({"input_images_urls": [url]}));
    server.generation(customer, "/url-generations", &body)
}

/// Why the only input image was refused.
fn refusal(call: Request) -> String {
    let answer = call.invalid(&[FIELD]).json();
    let message = &answer["errors"][0]["message"];
    message.as_str().unwrap().to_owned()
}

fn assert_has_an_input(server: &Server) {
    let order = server.generator.orders().pop().unwrap();
    assert_eq!(order.inputs.len(), 1);
    assert!(order.inputs[0].width > 0 && order.inputs[0].bytes > 0);
}

#[test]
fn the_result_of_a_job_is_the_input_of_the_next_one() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let (_, url) = image_url(&server, &customer);
    let next = call(&server, &customer, &url).expect(202).job_id();
    server.job_once(&customer, &next, "done");
    assert_has_an_input(&server);
    // The signature is the permission, also for another account.
    let other = server.customer("1.00");
    let next = call(&server, &other, &url).expect(202).job_id();
    server.job_once(&other, &next, "done");
    assert_has_an_input(&server);
    server.assert_settled();
}

#[test]
fn a_batch_reads_the_results_of_earlier_jobs() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let (job, url) = image_url(&server, &customer);
    let entry = |url: &str| entry_with(json!({"input_images_urls": [url]}));
    let batch = server.submit(&customer, &[entry(&url), entry(&format!("{url}0"))]);
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(
        (&ended["counts"]["done"], &ended["counts"]["failed"]),
        (&json!(1), &json!(1))
    );
    assert_has_an_input(&server);
    let path = format!("/jobs/{job}/image");
    server.native(&customer, "DELETE", &path).expect(204);
    let batch = server.submit(&customer, &[entry(&url)]);
    server.batch_ended(&customer, &batch);
    let results: Vec<Value> = server.results(&customer, &batch);
    let error = results[0]["error"].as_str().unwrap();
    assert!(error.contains("410 Gone, the image was deleted"), "{error}");
    server.assert_settled();
}

#[test]
fn a_url_that_is_forged_expired_or_of_a_deleted_image_is_422_with_the_reason() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let (job, url) = image_url(&server, &customer);
    let refused = |url: &str| refusal(call(&server, &customer, url));
    let forged = refused(&url.replace("signature=", "signature=0"));
    assert!(
        forged.contains("this server did not sign this URL"),
        "{forged}"
    );
    // Other URLs of the service are ordinary ones.
    let base = format!("http://{}", server.address);
    for ordinary in [
        format!("{base}/docs"),
        format!("{url}&width=256"),
        url.replace("/files/", "/files/../files2/"),
    ] {
        assert_eq!(
            refused(&ordinary),
            "is not at a public address",
            "{ordinary}"
        );
    }
    let path = format!("/jobs/{job}/image");
    server.native(&customer, "DELETE", &path).expect(204);
    let deleted = refused(&url);
    assert_eq!(
        deleted,
        "could not be read: 410 Gone, the image was deleted"
    );
    server.clock.advance(Duration::from_secs(2 * 86_400));
    let expired = refused(&url);
    assert!(expired.contains("the URL has expired"), "{expired}");
    server.assert_settled();
}

#[test]
fn the_limits_of_fetched_images_apply() {
    let options = Options::new().set("inputs.max_total_bytes", 1_024);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let (job, url) = image_url(&server, &customer);
    let file = server.objects().join(server.result_key(&job));
    std::fs::write(&file, [0; 1_025]).unwrap();
    call(&server, &customer, &url).invalid(&["input_images_urls"]);
    std::fs::write(&file, [0; 1_024]).unwrap();
    let not_an_image = refusal(call(&server, &customer, &url));
    assert!(not_an_image.starts_with("is not a PNG"), "{not_an_image}");
    server.assert_settled();
}
