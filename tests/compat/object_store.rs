//! The object store: how its failures are reported, and what remains in it.

use crate::fixture::{ResponseAssertions, asking, fox, image, with_image};
use crate::openai_edits::{call, form};
use crate::openai_responses::{self, respond};
use crate::support::clock::age;
use crate::support::{Options, Origin, Server, origin, sample_images, until};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;
use tintype::server::orphaned_objects;
use tintype::server::sweeps::remove_objects;

/// Makes all writes below this prefix of the store fail.
fn block(server: &Server, place: &str) {
    fs::create_dir_all(server.objects()).unwrap();
    fs::write(server.objects().join(place), "in the way").unwrap();
}

fn with_url(prompt: &str, url: &str) -> Value {
    json!({"contents": [{"parts": [{"text": prompt}, {"fileData": {"fileUri": url}}]}]})
}

#[test]
fn a_store_that_accepts_no_input_is_503_and_nothing_is_charged() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(9, 9)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    block(&server, "inputs");
    for body in [
        with_image(&image(9, 9)),
        with_url("a", &origin.url("/a.png")),
    ] {
        let answer = server.gemini(&customer, "fast", &body).send();
        let said = answer.assert_google_error(503, "UNAVAILABLE");
        assert!(said.contains("could not be stored"), "{said}");
        assert!(answer.header("retry-after").is_some());
    }
    let body = form(&[("prompt", "x")], &[("image", &sample_images::png(9, 9))]);
    let answer = call(&server, &customer, &body).send();
    answer.assert_openai_error(503, "server_error", Some("unavailable"));
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.gemini(&customer, "fast", &fox()).expect(200);
    server.assert_settled();
}

#[test]
fn a_text_that_cannot_be_stored_leaves_no_fetched_input() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(9, 9)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    block(&server, "words");
    let long = "a fox ".repeat(2_000);
    let answer = server.gemini(&customer, "fast", &asking(&long)).send();
    answer.assert_google_error(503, "UNAVAILABLE");
    let body = with_url(&long, &origin.url("/a.png"));
    let answer = server.gemini(&customer, "fast", &body).send();
    answer.assert_google_error(503, "UNAVAILABLE");
    until("nothing but the block is left", || {
        server.objects_left() == ["words"]
    });
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn while_no_image_can_be_stored_a_call_is_503_at_once_and_a_repetition_gets_its_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.gemini(&customer, "fast", &fox()).idempotent("k");
    call.clone().expect(200);
    let [results, aside] = ["results", "aside"].map(|it| server.objects().join(it));
    fs::rename(&results, &aside).unwrap();
    block(&server, "results");
    for node in server.nodes() {
        node.instance().jobs.objects.report_refused_write(1);
    }
    let answer = server.gemini(&customer, "fast", &fox()).send();
    let said = answer.assert_google_error(503, "UNAVAILABLE");
    assert!(said.contains("no image can be stored"), "{said}");
    assert!(answer.header("retry-after").is_some());
    let body = openai_responses::fox(json!({"background": true}));
    let queued = respond(&server, &customer, &body).expect(200).json();
    assert_eq!(queued["status"], "queued", "it waits for nothing");
    fs::remove_file(&results).unwrap();
    fs::rename(&aside, &results).unwrap();
    call.expect(200);
    assert_eq!(server.generator.runs(), 1);
    until("a probe writes", || {
        server.get("/readyz").send().status == 200
    });
    server.gemini(&customer, "fast", &fox()).expect(200);
    until("all have ended", || server.generator.runs() == 3);
    server.assert_settled();
}

fn block_on<T, E: std::fmt::Debug>(sweep: impl Future<Output = Result<T, E>>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(sweep).unwrap()
}

#[test]
fn inputs_of_no_live_job_are_swept_once_they_are_old() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let body = with_image(&image(9, 9));
    let waiting = server.in_background(server.gemini(&customer, "fast", &body));
    server.until_running(1);
    let live = server.generator.orders()[0].inputs[0].key.clone();
    let place = |key: &str| server.objects().join(key);
    fs::create_dir_all(place("inputs/left")).unwrap();
    for (key, days) in [("inputs/left/0.png", 3), ("inputs/left/1.png", 0)] {
        fs::write(place(key), "an input").unwrap();
        age(&place(key), days);
    }
    age(&place(&live), 3);
    let sweep = || {
        block_on(orphaned_objects::remove(
            &server.instance().jobs,
            &orphaned_objects::INPUTS,
        ))
    };
    // A node keeps them for an hour: an export on another node may have begun before their job ended.
    let is_node = server.inside().system.node().is_some();
    assert_eq!(sweep(), usize::from(!is_node));
    assert_eq!(place("inputs/left/0.png").exists(), is_node);
    server.delete_kept_inputs();
    let left: Vec<String> = server.objects_left();
    assert!(left.contains(&live), "a live job needs it: {left:?}");
    assert!(
        left.contains(&"inputs/left/1.png".to_owned()),
        "it is young"
    );
    assert!(!left.contains(&"inputs/left/0.png".to_owned()));
    assert_eq!(sweep(), 0);
    server.generator.release_all();
    waiting.join().unwrap().image();
    // The caller has its image before the inputs are deleted.
    until("the inputs of the job are deleted", || {
        server.delete_kept_inputs();
        !server.objects_left().contains(&live)
    });
    server.clock.advance(Duration::from_secs(2 * 86_400));
    assert_eq!(sweep(), usize::from(!is_node));
}

/// The objects of another service look like orphans, and its favourites like expired images.
#[test]
fn nothing_is_swept_while_another_service_uses_the_store() {
    let server = Server::start();
    server.customer("1.00");
    let place = |key: &str| server.objects().join(key);
    let old = ["inputs/left/0.png", "words/left.json", "results/left.png"];
    for key in old {
        fs::create_dir_all(place(key).parent().unwrap()).unwrap();
        fs::write(place(key), "old").unwrap();
        age(&place(key), 40);
    }
    let sweep = || {
        let jobs = &server.instance().jobs;
        block_on(async {
            remove_objects(jobs, true).await;
            Ok::<_, ()>(())
        });
        let mut left = server.objects_left();
        left.retain(|key| !key.starts_with("services/"));
        left.sort();
        left
    };
    let other = place("services/01993d3b-0000-7000-8000-000000000000");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, "another service").unwrap();
    assert_eq!(sweep(), [old[0], old[2], old[1]]);
    let marks = fs::read_dir(place("services")).unwrap();
    assert_eq!(marks.count(), 2, "it leaves its own mark, too");
    fs::remove_file(&other).unwrap();
    assert!(sweep().is_empty());
}

/// The objects of jobs that the copy has accepted look like orphans.
#[test]
fn nothing_is_swept_after_another_copy_of_the_records_has_used_the_store() {
    let server = Server::start();
    server.customer("1.00");
    let left = server.objects().join("inputs/left/0.png");
    let sweep = || {
        fs::create_dir_all(left.parent().unwrap()).unwrap();
        fs::write(&left, "old").unwrap();
        age(&left, 40);
        let jobs = &server.instance().jobs;
        block_on(async {
            remove_objects(jobs, false).await;
            Ok::<_, ()>(())
        });
        server.delete_kept_inputs();
        !left.exists()
    };
    let mark = || {
        let mut marks = fs::read_dir(server.objects().join("services")).unwrap();
        marks.next().unwrap().unwrap().path()
    };
    assert!(sweep());
    let first = fs::read_to_string(mark()).unwrap();
    assert!(sweep());
    let second = fs::read_to_string(mark()).unwrap();
    assert_ne!(first, second, "each sweep has its own token");
    // As after a crash between the writes of record and mark, or a write that arrives late.
    fs::write(mark(), &first).unwrap();
    assert!(sweep());
    let copy = "a Tintype service stores its images here\n01993d3b-0000-7000-8000-000000000000\n";
    fs::write(mark(), copy).unwrap();
    for _ in 0..2 {
        assert!(!sweep());
        assert_eq!(fs::read_to_string(mark()).unwrap(), copy);
    }
    // A store that does not contain the objects on record.
    let own = mark();
    fs::remove_file(&own).unwrap();
    assert!(!sweep());
    assert!(!own.exists());
    // The operator replaces the mark by an empty object.
    fs::write(&own, "").unwrap();
    assert!(sweep());
}

/// As after a crash between storing the text of a large request and accepting its job.
#[test]
fn request_texts_of_no_job_are_swept_once_they_are_old() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let stored = || -> Vec<String> {
        let mut objects = server.objects_left();
        objects.retain(|key| key.starts_with("words/"));
        objects.sort();
        objects
    };
    let sweep = || {
        block_on(orphaned_objects::remove(
            &server.instance().jobs,
            &orphaned_objects::REQUEST_TEXTS,
        ))
    };
    let long = asking(&"a fox ".repeat(2_000));
    server.gemini(&customer, "fast", &long).expect(200);
    let of_ended = stored();
    assert_eq!(of_ended.len(), 1);
    server.generator.hold();
    let waiting = server.in_background(server.gemini(&customer, "fast", &long));
    server.until_running(2);
    let of_jobs = stored();
    assert_eq!(of_jobs.len(), 2);
    let place = |key: &str| server.objects().join(key);
    for (key, days) in [("words/left.json", 3), ("words/young.json", 0)] {
        fs::write(place(key), "{}").unwrap();
        age(&place(key), days);
    }
    for key in &of_jobs {
        age(&place(key), 3);
    }
    assert_eq!(sweep(), 1);
    let left = stored();
    assert!(of_jobs.iter().all(|key| left.contains(key)), "{left:?}");
    assert!(left.contains(&"words/young.json".to_owned()), "{left:?}");
    assert_eq!(left.len(), 3);
    assert_eq!(sweep(), 0);
    server.generator.release_all();
    waiting.join().unwrap().image();
    server.clock.advance(Duration::from_secs(2 * 86_400));
    assert_eq!(sweep(), 1, "the young one, which is old now");
    assert_eq!(stored(), of_jobs);
}
