//! Supervision: a job actor that stops in any state resumes or fails its job, releases its slot once, and charges at most once.

use super::JobActor;
use crate::generators::{Act, ScriptedGenerator};
use crate::ports::{Observer, RunReport};
use crate::world::{A, Plan, World, quick, run, settle, until};
use actix::{ActorContext, Addr, Context, Handler, Message, WeakAddr};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Dispatch, Event, Metadata, Subscriber};

thread_local! {
    static ACTORS: RefCell<HashMap<JobId, WeakAddr<JobActor>>> = RefCell::default();
}

/// Remembers the actor of a job without keeping it alive.
pub(super) fn register(job: JobId, address: &Addr<JobActor>) {
    ACTORS.with_borrow_mut(|all| all.insert(job, address.downgrade()));
}

fn actor(job: JobId) -> Option<Addr<JobActor>> {
    ACTORS.with_borrow(|all| all.get(&job)?.upgrade())
}

/// How an actor stops before its job is terminal.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
enum Fault {
    /// The context stops, and the supervisor restarts the actor.
    Stop,
    /// The context ends at once, and the supervisor restarts the actor.
    Terminate,
    /// The actor panics in a message handler, which ends the supervisor too.
    Panic,
}

const FAULTS: [Fault; 3] = [Fault::Stop, Fault::Terminate, Fault::Panic];
const RESUMES_WITHIN: Duration = Duration::from_secs(1);
const SLOW: Act = Act::Take(Duration::from_secs(60));

impl Handler<Fault> for JobActor {
    type Result = ();

    fn handle(&mut self, fault: Fault, ctx: &mut Context<Self>) {
        match fault {
            Fault::Stop => ctx.stop(),
            Fault::Terminate => ctx.terminate(),
            Fault::Panic => panic!("on purpose"),
        }
    }
}

fn inject(fault: Fault, job: JobId) {
    actor(job).expect("a running actor").do_send(fault);
}

/// The job is charged once, and the only slot is free: the next two jobs run one after the other.
async fn check_done_and_paid_once(world: &World, generator: &ScriptedGenerator, job: JobId) {
    world.done(job).await;
    world.idle().await;
    assert_eq!(world.money(A), ["99.961", "0.00"]);
    assert_eq!(
        world.shelf.forgotten(),
        [job],
        "its inputs are removed once"
    );
    check_slot(world, generator).await;
}

async fn check_slot(world: &World, generator: &ScriptedGenerator) {
    assert_eq!(world.system.backends()[0].running, 0);
    let next = [
        world.accept(A, Tier::Fast, "next").await,
        world.accept(A, Tier::Fast, "one more").await,
    ];
    for job in next {
        world.done(job).await;
    }
    world.idle().await;
    assert_eq!(generator.peak(), 1, "the slot was released once");
    assert_eq!(world.system.queue().live(), 0);
    settle().await;
    assert!(next.iter().all(|job| actor(*job).is_none()), "actors end");
    world.check();
}

fn runs(world: &World, job: JobId) -> Option<u32> {
    match world.state(job) {
        JobState::Processing { runs, .. } => Some(runs),
        _ => None,
    }
}

#[test]
fn an_actor_that_stops_while_its_run_begins_begins_it_again() {
    for fault in FAULTS {
        run(async {
            let generator = quick();
            let world = Plan::with(generator.clone(), 1).start();
            world.pause_changed(Pause {
                project: true,
                ..Pause::default()
            });
            let job = world.accept(A, Tier::Fast, "a fox").await;
            world.engine.hold();
            world.pause_changed(Pause::default());
            until("the begin is in flight", || world.engine.held() == 1).await;
            assert!(
                generator.seen().is_empty(),
                "no run before its count is durable"
            );
            inject(fault, job);
            settle().await;
            let began = Instant::now();
            world.engine.open();
            until("the run goes on", || generator.seen().len() == 1).await;
            assert!(began.elapsed() < RESUMES_WITHIN, "{fault:?}");
            check_done_and_paid_once(&world, &generator, job).await;
            assert_eq!(generator.prompts(), ["a fox", "next", "one more"]);
        });
    }
}

#[test]
fn an_actor_that_stops_during_a_run_runs_the_job_again() {
    for fault in FAULTS {
        run(async {
            let generator = ScriptedGenerator::new([SLOW], Act::Image);
            let world = Plan::with(generator.clone(), 1).start();
            let job = world.accept(A, Tier::Fast, "a fox").await;
            until("it runs", || generator.running() == 1).await;
            let waiting = world.accept(A, Tier::Fast, "waiting").await;
            inject(fault, job);
            let stopped = Instant::now();
            until("it runs again", || generator.seen().len() > 1).await;
            assert!(stopped.elapsed() < RESUMES_WITHIN, "{fault:?}");
            world.done(job).await;
            world.done(waiting).await;
            world.idle().await;
            assert_eq!(generator.prompts(), ["a fox", "a fox", "waiting"]);
            assert_eq!(world.money(A), ["99.922", "0.00"]);
            check_slot(&world, &generator).await;
        });
    }
}

#[test]
fn an_actor_that_stops_during_the_last_run_fails_the_job() {
    for fault in FAULTS {
        run(async {
            let generator = ScriptedGenerator::new([SLOW], Act::Image);
            let mut plan = Plan::with(generator.clone(), 1);
            plan.max_runs = 1;
            let world = plan.start();
            let job = world.accept(A, Tier::Fast, "a fox").await;
            until("it runs", || generator.running() == 1).await;
            inject(fault, job);
            let stopped = Instant::now();
            assert_eq!(world.failure(job).await, "interrupted");
            assert!(stopped.elapsed() < RESUMES_WITHIN, "{fault:?}");
            world.idle().await;
            assert_eq!(world.money(A), ["100.00", "0.00"]);
            check_slot(&world, &generator).await;
        });
    }
}

/// Collects the messages and jobs of the log lines of this thread.
#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<Vec<String>>>);

impl Subscriber for LogLines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = String::new();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            line += &format!("{}={value:?} ", field.name());
        });
        self.0.lock().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn the_log_names_each_failed_job_once() {
    for act in [Act::Hang, Act::Panic] {
        let lines = LogLines::default();
        // If it is the only one, a line that another thread reaches first stays disabled.
        let _other = Dispatch::new(lines.clone());
        let _guard = set_default(lines.clone());
        run(async {
            let generator = ScriptedGenerator::new([act.clone()], Act::Image);
            let mut plan = Plan::with(generator.clone(), 1);
            plan.max_runs = 1;
            let world = plan.start();
            let job = world.accept(A, Tier::Fast, "a fox").await;
            if let Act::Hang = act {
                until("it runs", || generator.running() == 1).await;
                inject(Fault::Stop, job);
            }
            let error = world.failure(job).await;
            world.idle().await;
            let lines = lines.0.lock();
            let failed = lines.iter().filter(|it| it.contains("the job failed"));
            let failed: Vec<_> = failed.collect();
            assert_eq!(failed.len(), 1, "{error}: {lines:?}");
            assert!(failed[0].contains(&job.to_string()), "{failed:?}");
        });
    }
}

#[test]
fn an_actor_that_stops_while_its_job_ends_generates_no_second_image() {
    for fault in FAULTS {
        run(async {
            let generator = ScriptedGenerator::always(Act::Take(Duration::from_millis(50)));
            let world = Plan::with(generator.clone(), 1).start();
            let job = world.accept(A, Tier::Fast, "a fox").await;
            until("it runs", || generator.running() == 1).await;
            assert_eq!(runs(&world, job), Some(1));
            world.engine.hold();
            until("its end is in flight", || world.engine.held() == 1).await;
            inject(fault, job);
            settle().await;
            let began = Instant::now();
            world.engine.open();
            until("it ends", || world.state(job).is_terminal()).await;
            world.idle().await;
            assert!(began.elapsed() < RESUMES_WITHIN, "{fault:?}");
            assert_eq!(generator.prompts(), ["a fox"]);
            assert_eq!(world.money(A), ["99.961", "0.00"]);
            check_slot(&world, &generator).await;
        });
    }
}

#[test]
fn an_actor_stopped_while_a_shutdown_interrupts_its_run_subtracts_at_most_one_run() {
    for fault in [Fault::Stop, Fault::Terminate] {
        run(async {
            let generator = ScriptedGenerator::always(Act::Hang);
            let world = Plan::with(generator.clone(), 1).start();
            let job = world.accept(A, Tier::Fast, "a fox").await;
            until("it runs", || generator.running() == 1).await;
            world.engine.hold();
            let drain = world.system.drain(Duration::ZERO);
            let faults = async {
                until("the cut-off is in flight", || world.engine.held() == 1).await;
                inject(fault, job);
                settle().await;
                world.engine.open();
            };
            tokio::join!(drain, faults);
            assert_eq!(runs(&world, job), Some(0), "{fault:?}");
            assert_eq!(world.system.queue().depths().running, 0);
        });
    }
}

/// Panics at the end of this many runs.
struct Panicking(AtomicUsize);

impl Observer for Panicking {
    fn run_ended(&self, _: &RunReport<'_>) {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        assert_eq!(left, 0, "on purpose");
    }

    fn job_ended(&self, _: &Job) {}

    fn attempt_ended(&self, _: &Delivery, _: &Attempt) {}
}

#[test]
fn a_panic_beside_the_run_restarts_the_actor_until_the_runs_are_used_up() {
    for (panics, seen, ends) in [(1, 2, "done"), (2, 3, "done"), (99, 3, "failed")] {
        run(async {
            let generator = quick();
            let mut plan = Plan::with(generator.clone(), 1);
            plan.observer = Some(Arc::new(Panicking(AtomicUsize::new(panics))));
            let world = plan.start();
            let job = world.accept(A, Tier::Fast, "a fox").await;
            until("it ends", || world.state(job).is_terminal()).await;
            world.idle().await;
            assert_eq!(world.state(job).as_str(), ends);
            assert_eq!(generator.seen().len(), seen, "{panics} panics");
            assert_eq!(world.system.backends()[0].running, 0);
            assert_eq!(world.system.queue().live(), 0);
            world.check();
        });
    }
}
