//! Batches in the running system: their order in the queue, their input images, their cancellation and a restart.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{
    A, Answer, B, PRICE, Plan, SLOW_FETCH, World, fresh, quick, run, settle, until,
};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::batch::{BatchProgress, BatchStatus};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId};
use tintype_storage::domain::job::{CANCELED, JobState, PromptRef, PromptText};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::TAKEN_JOBS;
use tintype_storage::store::{
    AcceptError, AcceptedBatch, BatchError, IdempotencyUse, NewBatch, NewBatchJob, Part,
};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// A prompt `image:URL` has an input image at that URL.
fn request(prompt: &str) -> NewBatchJob {
    let url = prompt.strip_prefix("image:").map(str::to_owned);
    NewBatchJob {
        mode: match url {
            Some(_) => Mode::ImageToImage,
            None => Mode::TextToImage,
        },
        prompt: samples::prompt(prompt),
        input_urls: InputUrls::Inline(url.into_iter().collect()),
        ..samples::batch_request(PRICE.parse().expect("a price"))
    }
}

fn send(world: &World, account: AccountId, prompts: &[&str]) -> Answer<AcceptedBatch, AcceptError> {
    send_keyed(world, account, prompts, None)
}

fn send_keyed(
    world: &World,
    account: AccountId,
    prompts: &[&str],
    idempotency: Option<IdempotencyUse>,
) -> Answer<AcceptedBatch, AcceptError> {
    let requests: Vec<NewBatchJob> = prompts.iter().map(|it| request(it)).collect();
    let prices = requests.iter().map(|it| it.price);
    let price = prices.fold(Amount::ZERO, |sum, it| sum.plus(it).expect("a sum"));
    let batch = NewBatch {
        key: KeyId(account.0),
        shown: None,
        account_rate_limit: None,
        requests,
        price,
        text: PromptRef::Inline(PromptText::default()),
        callback: None,
        idempotency,
        file: None,
    };
    let (reply, answer) = oneshot::channel();
    let handle = world
        .system
        .accounts()
        .get_or_start(account)
        .wait()
        .expect("readable");
    let _ = handle.expect("it").accept_batch(batch, None, reply);
    answer
}

#[test]
fn a_job_with_the_key_of_a_batch_of_the_same_commit_is_refused() {
    run(async {
        let world = Plan::over(fresh("100"), quick(), 1).start();
        world.engine.hold();
        let first = world.send(A, Tier::Fast, "first", None);
        until("its commit is in flight", || world.engine.held() == 1).await;
        let used = IdempotencyUse {
            name: "k".into(),
            fingerprint: Fingerprint([8; 32]),
        };
        let batch = send_keyed(&world, A, &["a", "b"], Some(used));
        let job = world.send(A, Tier::Fast, "fox", Some("k"));
        settle().await;
        world.engine.open();
        first.await.expect("an answer").expect("accepted");
        batch.await.expect("an answer").expect("accepted");
        let refused = job.await.expect("an answer");
        assert!(
            matches!(refused, Err(AcceptError::KeyReused)),
            "{refused:?}"
        );
        world.idle().await;
        world.check();
    });
}

async fn submit(world: &World, account: AccountId, prompts: &[&str]) -> BatchId {
    let answer = send(world, account, prompts).await;
    answer.expect("an answer").expect("accepted").batch
}

fn cancel(world: &World, batch: BatchId) -> Answer<BatchProgress, BatchError> {
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::CancelBatch {
        batch,
        to_entry: None,
        reply: reply.into(),
    };
    let handle = world
        .system
        .accounts()
        .get_or_start(A)
        .wait()
        .expect("readable");
    let _ = handle.expect("it").send(command);
    answer
}

fn progress(world: &World, batch: BatchId) -> BatchProgress {
    let found = world.store.batch(A, batch).wait().expect("readable");
    found.expect("the batch").1
}

fn counts(world: &World, batch: BatchId) -> [u32; 4] {
    let it = progress(world, batch);
    [it.queued, it.processing, it.done, it.failed]
}

fn charged(world: &World, batch: BatchId) -> String {
    progress(world, batch).charged.to_string()
}

fn jobs(world: &World, batch: BatchId) -> Vec<JobId> {
    let found = world.store.batch(A, batch).wait().expect("readable");
    let (batch, _) = found.expect("the batch");
    let jobs = world
        .store
        .jobs_of_batch(&batch, Part::All, None, 100)
        .wait();
    jobs.expect("jobs").iter().map(|it| it.id).collect()
}

fn pause(world: &World, project: bool) {
    world.pause_changed(Pause {
        project,
        ..Pause::default()
    });
}

#[test]
fn decisions_12_jobs_of_a_batch_wait_behind_the_single_ones_of_their_account() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(1)));
        let world = Plan::with(generator.clone(), 1).start();
        pause(&world, true);
        let batch = submit(&world, A, &["a1", "a2", "a3"]).await;
        submit(&world, B, &["b1"]).await;
        let single = world.accept(A, Tier::Fast, "single").await;
        let position = world.position(single);
        assert_eq!(position, Some(1));
        let last = jobs(&world, batch)[2];
        assert_eq!(world.position(last), Some(5));
        pause(&world, false);
        world.idle().await;
        assert_eq!(generator.prompts(), ["single", "b1", "a1", "a2", "a3"]);
        assert_eq!(counts(&world, batch), [0, 0, 3, 0]);
        assert_eq!(progress(&world, batch).status(), BatchStatus::Ended);
        world.check();
    });
}

#[test]
fn decisions_12_input_images_are_fetched_when_the_job_is_dequeued() {
    run(async {
        let generator = quick();
        let world = Plan::with(generator.clone(), 1).start();
        let prompts = ["image:https://a/", "image:missing:b", "plain"];
        let batch = submit(&world, A, &prompts).await;
        world.idle().await;
        settle().await;
        let [found, missing, plain] = jobs(&world, batch)[..] else {
            panic!("three jobs")
        };
        let keys: Vec<String> = world
            .job(found)
            .inputs
            .into_iter()
            .map(|it| it.key)
            .collect();
        assert_eq!(keys, ["https://a/"]);
        world.done(found).await;
        world.done(plain).await;
        assert_eq!(
            world.failure(missing).await,
            "there is nothing at missing:b"
        );
        assert_eq!(
            generator.prompts(),
            ["image:https://a/", "plain"],
            "the failed job reached no backend"
        );
        assert_eq!(
            world.money(A),
            ["99.922", "0.00"],
            "the failed job is not charged"
        );
        assert_eq!(charged(&world, batch), "0.078");
        world.check();
    });
}

#[test]
fn a_fetch_of_input_images_is_repeated_while_the_object_store_fails() {
    run(async {
        let generator = quick();
        let world = Plan::with(generator.clone(), 1).start();
        let batch = submit(&world, A, &["image:unstored:a"]).await;
        world.idle().await;
        assert_eq!(counts(&world, batch), [0, 0, 1, 0]);
        assert_eq!(generator.prompts(), ["image:unstored:a"]);
        world.check();
    });
}

#[test]
fn a_job_that_has_fetched_its_input_images_calls_no_backend_while_the_object_store_fails() {
    run(async {
        let generator = quick();
        let world = Plan::with(generator.clone(), 1).start();
        let batch = submit(&world, A, &["image:slow:a"]).await;
        until("it fetches", || counts(&world, batch) == [0, 1, 0, 0]).await;
        world.shelf.set_lost(true);
        sleep(2 * SLOW_FETCH).await;
        assert_eq!(world.job(jobs(&world, batch)[0]).inputs.len(), 1);
        assert_eq!(generator.prompts(), [""; 0]);
        world.shelf.set_lost(false);
        world.idle().await;
        assert_eq!(counts(&world, batch), [0, 0, 1, 0]);
        world.check();
    });
}

#[test]
fn a_job_that_has_fetched_its_input_images_waits_for_the_end_of_a_pause_until_its_deadline() {
    run(async {
        let generator = quick();
        let plan = Plan::with(generator.clone(), 1);
        let run_timeout = plan.run_timeout;
        let world = plan.start();
        let batch = submit(&world, A, &["image:slow:a"]).await;
        until("it fetches", || counts(&world, batch) == [0, 1, 0, 0]).await;
        let begun = Instant::now();
        world.backends_paused(&[0]);
        world.idle().await;
        assert_eq!(counts(&world, batch), [0, 0, 0, 1]);
        let waited = begun.elapsed() - SLOW_FETCH;
        assert_eq!(waited.as_secs(), run_timeout.as_secs());
        assert_eq!(generator.prompts(), [""; 0]);
        world.check();
    });
}

#[test]
fn hostile_117_a_batch_with_slow_input_urls_does_not_occupy_the_slots() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(1)));
        let world = Plan::with(generator.clone(), 2).start();
        let batch = submit(&world, A, &["image:slow:a"; 20]).await;
        until("two fetch", || counts(&world, batch) == [18, 2, 0, 0]).await;
        let begin = Instant::now();
        let plain = submit(&world, B, &["b1", "b2"]).await;
        let single = world.accept(B, Tier::Fast, "b3").await;
        world.accept(A, Tier::Fast, "a single one").await;
        world.done(single).await;
        until("the batch of B has ended", || {
            world
                .store
                .batch(B, plain)
                .wait()
                .expect("readable")
                .is_some_and(|(_, it)| it.ended_at.is_some())
        })
        .await;
        let took = begin.elapsed();
        assert!(took < SLOW_FETCH / 2, "B waited {took:?}");
        assert_eq!(
            counts(&world, batch),
            [18, 2, 0, 0],
            "no further job of the batch began to fetch"
        );
        world.idle().await;
        assert_eq!(counts(&world, batch), [0, 0, 20, 0]);
        // Two at a time fetch, and the next ones while those generate.
        assert!(begin.elapsed() < SLOW_FETCH * 11, "{:?}", begin.elapsed());
        world.check();
    });
}

#[test]
fn a_node_leaves_a_resumed_job_in_the_queue_while_its_account_fetches_all_it_may() {
    run(async {
        let engine = fresh("100");
        let plan = Plan::over(Arc::clone(&engine) as _, quick(), 2);
        let world = plan.among_nodes().start();
        world.system.joined().await.expect("it joins");
        let batch = submit(&world, A, &["image:slow:1", "image:slow:2"]).await;
        until("both fetch", || counts(&world, batch) == [0, 2, 0, 0]).await;
        world.system.drain(Duration::ZERO).await;
        world.system.return_jobs().await;
        world.system.leave().await;
        let world = Plan::over(engine, quick(), 1).among_nodes().start();
        world.system.joined().await.expect("it joins");
        let taken = || TAKEN_JOBS.all(&world.store).wait().expect("readable").len();
        until("a job fetches", || taken() > 0).await;
        sleep(SLOW_FETCH / 2).await;
        assert_eq!(taken(), 1, "the node has one slot");
        world.idle().await;
        assert_eq!(counts(&world, batch), [0, 0, 2, 0]);
        world.check();
    });
}

#[test]
fn jobs_with_input_urls_are_distributed_by_weight_and_keep_the_reserve_free() {
    run(async {
        let [reserve, heavy, light] = std::array::from_fn(|_| quick());
        let mut plan = Plan::with(reserve.clone(), 1);
        plan.backends
            .extend([(heavy.clone(), 1), (light.clone(), 1)]);
        plan.route = vec![0, 1, 2];
        plan.weights = vec![None, Some(3), Some(1)];
        let world = plan.start();
        for _ in 0..8 {
            submit(&world, A, &["image:https://a/"]).await;
            world.idle().await;
        }
        let seen = [&reserve, &heavy, &light].map(|it| it.seen().len());
        assert_eq!(seen, [0, 6, 2]);
        world.check();
    });
}

#[test]
fn a_job_with_input_urls_takes_a_slot_that_became_free_elsewhere() {
    run(async {
        let take = |seconds| ScriptedGenerator::always(Act::Take(Duration::from_secs(seconds)));
        let (long, short) = (take(300), take(1));
        let mut plan = Plan::with(long.clone(), 1);
        plan.backends.push((short.clone(), 1));
        plan.route = vec![0, 1];
        plan.weights = vec![Some(1), Some(1)];
        plan.attempt_timeout = Duration::from_secs(600);
        let world = plan.start();
        let batch = submit(&world, A, &["image:slow:a"]).await;
        until("it fetches", || counts(&world, batch) == [0, 1, 0, 0]).await;
        for prompt in ["on short", "on long"] {
            world.accept(B, Tier::Fast, prompt).await;
        }
        until("the batch has ended", || {
            counts(&world, batch) == [0, 0, 1, 0]
        })
        .await;
        assert_eq!(long.prompts(), ["on long"]);
        assert_eq!(short.prompts(), ["on short", "image:slow:a"]);
        world.idle().await;
        world.check();
    });
}

#[test]
fn decisions_12_canceling_a_batch_cancels_its_queued_jobs() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(1)));
        let world = Plan::with(generator.clone(), 1).start();
        let batch = submit(&world, A, &["a1", "a2", "a3"]).await;
        until("one runs", || generator.running() == 1).await;
        let canceled = cancel(&world, batch).await.expect("an answer");
        assert_eq!(canceled.expect("canceled").status(), BatchStatus::Canceling);
        world.idle().await;
        assert_eq!(generator.prompts(), ["a1"]);
        assert_eq!(counts(&world, batch), [0, 0, 1, 2]);
        assert_eq!(progress(&world, batch).status(), BatchStatus::Ended);
        assert_eq!(world.money(A), ["99.961", "0.00"]);
        assert_eq!(charged(&world, batch), "0.039");
        world.check();
    });
}

#[test]
fn a_batch_resumes_after_a_restart() {
    let engine = fresh("100");
    let batch = {
        let engine = engine.clone();
        let slot = Arc::new(parking_lot::Mutex::new(None));
        let kept = slot.clone();
        run(async move {
            let world = Plan::over(engine, ScriptedGenerator::always(Act::Hang), 1).start();
            let batch = submit(&world, A, &["a1", "a2", "a3"]).await;
            until("one runs", || counts(&world, batch) == [2, 1, 0, 0]).await;
            *kept.lock() = Some(batch);
            world.system.stop();
        });
        slot.lock().expect("a batch")
    };
    run(async move {
        let generator = quick();
        let world = Plan::over(engine, generator.clone(), 1).start();
        let single = world.accept(A, Tier::Fast, "single").await;
        world.idle().await;
        world.done(single).await;
        assert_eq!(counts(&world, batch), [0, 0, 3, 0]);
        assert_eq!(charged(&world, batch), "0.117");
        let ended = progress(&world, batch).ended_at;
        assert!(ended.is_some());
        for job in jobs(&world, batch) {
            assert!(matches!(world.state(job), JobState::Done { .. }));
        }
        world.check();
    });
}

/// The process stops after the cancellation of the batch is durable, and before that of its jobs.
async fn stop_in_a_cancellation(engine: Arc<MemoryEngine>) -> BatchId {
    let world = Plan::over(engine, ScriptedGenerator::always(Act::Hang), 1).start();
    let batch = submit(&world, A, &["a1", "a2", "a3"]).await;
    until("one runs", || counts(&world, batch) == [2, 1, 0, 0]).await;
    let canceled = cancel(&world, batch).await.expect("an answer");
    assert_eq!(canceled.expect("canceled").queued, 2);
    world.system.stop();
    batch
}

async fn assert_canceled_while_one_runs(world: &World, batch: BatchId) {
    until("the others are canceled", || {
        counts(world, batch) == [0, 1, 0, 2]
    })
    .await;
    let last = jobs(world, batch)[2];
    assert_eq!(world.failure(last).await, CANCELED);
    assert_eq!(world.money(A), ["100.00", "0.039"]);
    world.check();
}

#[test]
fn a_restart_completes_the_cancellation_of_a_batch_while_all_slots_are_in_use() {
    let engine = fresh("100");
    run(async move {
        let batch = stop_in_a_cancellation(engine.clone()).await;
        let hangs = ScriptedGenerator::always(Act::Hang);
        let world = Plan::over(engine, hangs, 1).start();
        assert_canceled_while_one_runs(&world, batch).await;
    });
}

#[test]
fn the_first_of_several_nodes_completes_the_cancellation_of_a_batch() {
    let engine = fresh("100");
    run(async move {
        let batch = stop_in_a_cancellation(engine.clone()).await;
        let hangs = ScriptedGenerator::always(Act::Hang);
        let world = Plan::over(engine, hangs, 1).among_nodes().start();
        world.system.joined().await.expect("it joins");
        assert_canceled_while_one_runs(&world, batch).await;
    });
}
