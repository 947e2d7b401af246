//! Decisions 1, "Prompt", and the storage of prompts that are too large for a record.

use crate::support::{Server, fox_with, options::Options, until};
use serde_json::json;
use std::fs;

const PATH: &str = "/text-generations";

#[test]
fn a_prompt_has_1_to_32768_characters_after_stripping() {
    let server = Server::start();
    let customer = server.customer("10.00");
    // An emoji is one character, four bytes, and two UTF-16 units.
    for letter in ["a", "é", "😀"] {
        let most = letter.repeat(32_768);
        for accepted in [letter.to_owned(), most.clone(), format!("\0{most}\0")] {
            let body = fox_with(json!({"prompt": accepted}));
            let answer = server.generation(&customer, PATH, &body).expect(202);
            server.job_once(&customer, &answer.job_id(), "done");
            let order = server.generator.orders().pop().unwrap();
            assert_eq!(order.prompt, accepted.replace('\0', ""));
        }
        let body = fox_with(json!({"prompt": format!("{most}{letter}")}));
        server
            .generation(&customer, PATH, &body)
            .invalid(&["prompt"]);
    }
    server.assert_settled();
}

#[test]
fn the_longest_prompt_is_configurable() {
    let server = Server::with(Options::new().set("jobs.max_prompt_chars", 3));
    let customer = server.customer("1.00");
    let body = fox_with(json!({"prompt": "abc"}));
    server.generation(&customer, PATH, &body).expect(202);
    let body = fox_with(json!({"prompt": "abcd"}));
    server
        .generation(&customer, PATH, &body)
        .invalid(&["prompt"]);
}

#[test]
fn a_large_prompt_reaches_the_generator_whole_also_after_a_restart() {
    let options = Options::new().on_disk();
    options.generator.hold();
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let prompt: String = (0..32_768)
        .map(|at| if at % 2 == 0 { '🦊' } else { '雪' })
        .collect();
    let body = fox_with(json!({"prompt": prompt, "metadata": {"m": "x".repeat(16_000)}}));
    let job = server
        .generation(&customer, PATH, &body)
        .expect(202)
        .job_id();
    // The job is `processing` a moment before the service has read the prompt.
    until("the generator has it", || {
        server.generator.orders().len() == 1
    });
    assert_eq!(server.objects_left().len(), 1);
    let server = server.restart();
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    let orders = server.generator.orders();
    assert_eq!(orders.len(), 2);
    assert!(orders.iter().all(|order| order.prompt == prompt));
    server.assert_settled();
}

#[test]
fn a_rejected_call_leaves_no_stored_prompt() {
    let server = Server::start();
    let body = fox_with(json!({"prompt": "x".repeat(32_768)}));
    let poor = server.customer("0.10");
    server
        .generation(&poor, PATH, &body)
        .refused(402, "insufficient_balance");
    let capped = server.customer_with("10.00", json!({"spend_limit": "0.01"}));
    server
        .generation(&capped, PATH, &body)
        .refused(402, "key_limit_reached");
    let rich = server.customer("10.00");
    server.pause(&["project"]);
    server.generation(&rich, PATH, &body).refused(503, "paused");
    server.pause(&[]);
    assert_eq!(server.objects_left(), [""; 0]);
    // A replay stores nothing either.
    server.generator.hold();
    let call = server.generation(&rich, PATH, &body).idempotent("large");
    let job = call.expect(202).job_id();
    call.expect(202);
    assert_eq!(server.objects_left().len(), 1);
    server.generator.release_all();
    server.job_once(&rich, &job, "done");
}

#[test]
fn a_prompt_that_cannot_be_stored_is_502_and_nothing_is_reserved() {
    let server = Server::start();
    let customer = server.customer("1.00");
    fs::remove_dir_all(server.objects()).unwrap();
    fs::write(server.objects(), "in the way").unwrap();
    let body = fox_with(json!({"prompt": "x".repeat(32_768)}));
    let call = server
        .generation(&customer, PATH, &body)
        .idempotent("large");
    call.refused(502, "storage_unavailable");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    fs::remove_file(server.objects()).unwrap();
    fs::create_dir(server.objects()).unwrap();
    let job = call.expect(202).job_id();
    server.job_once(&customer, &job, "done");
}
