//! ComfyUI prompts survive a restart of Tintype, and are canceled when Tintype abandons them.

use crate::comfyui::{AGES, plain};
use crate::comfyui_stub::{Age, Fate, Stub};
use crate::fixture::{Fixture, assert_outcome, describe, outcome, run, until};
use crate::support::{Options, Server};
use serde_json::json;
use tintype_actors::ports::{GenerationTask, Generator};

/// Starts a task with a new generator, and drops it once the server has the prompt.
async fn begun_and_dropped(fixture: &Fixture, stub: &Stub, task: &GenerationTask, fate: Fate) {
    stub.next(&[fate]);
    let making = tokio::task::spawn_local(plain(fixture, stub).generate(task.clone()));
    // One lookup before the submission, and one during the wait.
    until("the prompt is waited for", || {
        stub.prompts().len() == 1 && stub.questions() > 1
    })
    .await;
    making.abort();
    assert!(making.await.unwrap_err().is_cancelled());
}

#[test]
fn a_prompt_is_found_again_after_a_restart() {
    for age in AGES {
        for fate in [Fate::Runs, Fate::Waits] {
            let (fixture, stub) = (Fixture::new(), Stub::start(age));
            run(async {
                let task = fixture.task();
                fixture.cut_off.send_replace(true);
                begun_and_dropped(&fixture, &stub, &task, fate.clone()).await;
                fixture.cut_off.send_replace(false);
                let again = tokio::task::spawn_local(plain(&fixture, &stub).generate(task.clone()));
                let reconnected = || stub.calls("GET /ws").len() > 1;
                until("the second run has opened its socket", reconnected).await;
                stub.all_become(Fate::Done);
                assert_outcome(&describe(again.await.unwrap()), "image");
            });
            assert_eq!(stub.prompts().len(), 1, "{age:?} {fate:?}");
            assert!(stub.calls("POST /interrupt").is_empty());
            assert!(stub.calls("POST /queue").is_empty());
        }
    }
}

#[test]
fn an_image_finished_meanwhile_is_fetched() {
    for age in AGES {
        let (fixture, stub) = (Fixture::new(), Stub::start(age));
        run(async {
            let task = fixture.task();
            fixture.cut_off.send_replace(true);
            begun_and_dropped(&fixture, &stub, &task, Fate::Runs).await;
            stub.all_become(Fate::Done);
            assert_outcome(&outcome(&plain(&fixture, &stub), &task).await, "image");
        });
        assert_eq!(stub.prompts().len(), 1, "{age:?}");
    }
}

#[test]
fn a_prompt_that_failed_or_was_canceled_meanwhile_is_submitted_again() {
    for age in AGES {
        for fate in [Fate::Fails("X", ""), Fate::Interrupted, Fate::Lost] {
            let (fixture, stub) = (Fixture::new(), Stub::start(age));
            run(async {
                let task = fixture.task();
                fixture.cut_off.send_replace(true);
                begun_and_dropped(&fixture, &stub, &task, Fate::Runs).await;
                stub.all_become(fate.clone());
                assert_outcome(&outcome(&plain(&fixture, &stub), &task).await, "image");
            });
            assert_eq!(stub.prompts().len(), 2, "{age:?} {fate:?}");
        }
    }
}

#[test]
fn an_abandoned_prompt_is_canceled_only_by_its_id() {
    for age in AGES {
        for fate in [Fate::Runs, Fate::Waits] {
            let (fixture, stub) = (Fixture::new(), Stub::start(age));
            run(async {
                // Another client's prompt, which must continue.
                stub.next(&[Fate::Waits]);
                let other = json!({"prompt": {}, "prompt_id": "another", "client_id": "another"});
                let http = awc::Client::default();
                let sent = http
                    .post(format!("{}/prompt", stub.url()))
                    .send_json(&other);
                assert!(sent.await.unwrap().status().is_success());
                let task = fixture.task();
                stub.next(std::slice::from_ref(&fate));
                let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(task));
                until("the prompt is waited for", || {
                    stub.prompts().len() == 2 && stub.questions() > 1
                })
                .await;
                making.abort();
                until("it has ended", || {
                    matches!(stub.prompts()[1].fate, Fate::Interrupted)
                })
                .await;
            });
            assert!(
                matches!(stub.prompts()[0].fate, Fate::Waits),
                "{age:?} {fate:?}"
            );
        }
    }
}

#[test]
fn a_canceled_prompt_that_is_still_listed_is_replaced_by_a_new_prompt() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    run(async {
        let task = fixture.task();
        begun_and_dropped(&fixture, &stub, &task, Fate::Runs).await;
        let again = outcome(&plain(&fixture, &stub), &task).await;
        assert_outcome(&again, "image");
    });
    assert_eq!(stub.prompts().len(), 2);
}

#[test]
fn of_several_backends_the_one_with_the_prompt_is_found() {
    let (first, second) = (Stub::start(Age::New), Stub::start(Age::Old));
    first.next(&[Fate::Fails("RuntimeError", "")]);
    second.next(&[Fate::Runs]);
    let other: toml::Table = backend(&first);
    let task = "it = [{ name = 'other' }, { name = 'comfy' }]";
    let task = task.parse::<toml::Table>().unwrap()["it"].clone();
    let options = service(&second)
        .set("backends.other", other)
        .set("tiers.pro.backends", task);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    // The socket opens before the submission, so an open socket proves nothing yet.
    crate::support::until("the second one has it", || second.prompts().len() == 1);
    let server = server.restart();
    crate::support::until("the second run has found it", || {
        second.calls("GET /ws").len() == 2
    });
    second.all_become(Fate::Done);
    server.job_once(&customer, &job, "done");
    assert_eq!((first.prompts().len(), second.prompts().len()), (1, 1));
}

fn backend(stub: &Stub) -> toml::Table {
    let text = format!("kind = 'comfyui'\nbase_url = '{}'", stub.url());
    text.parse().unwrap()
}

/// Starts the service with a ComfyUI backend for the tier `pro`.
fn service(stub: &Stub) -> Options {
    let backend = backend(stub);
    let backends: toml::Value =
        "it = [{ name = 'comfy' }]".parse::<toml::Table>().unwrap()["it"].clone();
    Options::new()
        .on_disk()
        .set("backends.comfy", backend)
        .set("tiers.pro.backends", backends)
}

#[test]
fn a_prompt_is_resumed_after_a_restart_and_never_submitted_twice() {
    for age in AGES {
        let stub = Stub::start(age);
        stub.next(&[Fate::Runs]);
        let server = Server::with(service(&stub));
        let customer = server.customer("1.00");
        let job = server.create(&customer);
        crate::support::until("the prompt is there", || stub.prompts().len() == 1);
        server.job_once(&customer, &job, "processing");
        let server = server.restart();
        let server = {
            server.job_once(&customer, &job, "processing");
            crate::support::until("the second run has found it", || {
                stub.calls("GET /ws").len() == 2
            });
            server.restart()
        };
        crate::support::until("the third run has found it", || {
            stub.calls("GET /ws").len() == 3
        });
        stub.all_become(Fate::Done);
        let done = server.job_once(&customer, &job, "done");
        assert_eq!(done["error"], json!(null));
        assert_eq!(stub.prompts().len(), 1, "{age:?}");
        assert!(stub.calls("POST /interrupt").is_empty());
        server.assert_money(&customer, "0.866", "0.00", "0.866");
        crate::support::audited(&server);
    }
}

#[test]
fn the_service_reports_the_progress_of_a_running_job() {
    let stub = Stub::start(Age::New);
    stub.next(&[Fate::Runs]);
    let server = Server::with(service(&stub));
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    crate::support::until("the socket is open", || {
        stub.prompts().len() == 1 && stub.has_listener()
    });
    let id = stub.prompts()[0].id.clone();
    let found = tintype_storage::domain::ids::JobId(job.parse().unwrap());
    let progress = || server.inside().system.progress(found);
    assert_eq!(progress(), None);
    stub.tell(
        "progress",
        &json!({"value": 5, "max": 10, "prompt_id": id, "node": "sampler"}),
    );
    crate::support::until("the progress is reported", || {
        progress().is_some_and(|it| it > 0.2 && it < 0.8)
    });
    stub.all_become(Fate::Done);
    server.job_once(&customer, &job, "done");
    crate::support::until("the run is over", || progress().is_none());
}
