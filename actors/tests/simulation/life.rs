//! One life of the process: the real actors, from their start on a disk image to their end.

use crate::disk::{Disk, DiskFault, Image};
use crate::generators::{Shelf, SimulatedBackend};
use crate::model::backend_name;
use crate::receivers::Receivers;
use crate::world::World;
use crate::{clients, keys, operator};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::backends::{Backend, Route, Routes};
use tintype_actors::clock::{Clock, Jitter};
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, System, SystemOptions, Threads,
};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, OnFailure};
use tintype_storage::store::{Limits, Store, StoreError};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;
use tokio::sync::Mutex;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

/// The time between a storage failure and the end of the process, in which callers get errors.
const FAILURE_GRACE: Duration = Duration::from_secs(1);
/// The limit of the calm phase. Deliveries that were recorded under a clock that ran ahead wait for long.
const CALM_MINUTES: u64 = 24 * 60;

/// The backends of each tier, in order of preference.
pub const ROUTES: [&[usize]; 3] = [&[0], &[1, 0], &[0, 1, 2]];
pub const RUN_TIMEOUT: Duration = Duration::from_secs(150);

/// The settings of a scenario.
#[derive(Clone)]
pub struct Plan {
    pub keys: Vec<(AccountId, KeyId)>,
    pub slots: Vec<usize>,
    pub retries: u32,
    pub delivery_limits: DeliveryLimits,
    /// The weights of the third tier's backends.
    pub weights: [Option<u32>; 3],
}

/// How a life ends, and the number of random actions before that.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// At a commit, or at the latest after all actions.
    Crash { steps: u64, at_commit: Option<u64> },
    /// Storage fails at this commit.
    Failure { steps: u64, at_commit: u64 },
    /// An orderly stop, during which the process may crash.
    Stop {
        steps: u64,
        grace: Duration,
        death: Option<Death>,
    },
    /// No failures are injected, and all pending work finishes.
    Calm,
}

/// A crash during an orderly stop.
#[derive(Clone, Copy, Debug)]
pub enum Death {
    /// After this time.
    After(Duration),
    /// Before this commit is written, counted from the beginning of the stop.
    AtCommit(u64),
}

/// The running process, for clients and the operator.
#[derive(Clone)]
pub struct Process {
    pub world: World,
    pub plan: Plan,
    pub store: Store,
    pub system: Arc<System>,
    /// Held by the operator from a read to the write that builds on it.
    pub turn: Arc<Mutex<()>>,
}

/// Runs a life. Returns its disk, and the image for the next life.
pub fn live(world: &World, plan: &Plan, image: Image, ending: Ending) -> (Arc<Disk>, Image) {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
    };
    let outcome = actix::System::with_tokio_rt(runtime).block_on(life(world, plan, image, ending));
    let uptime = world.uptime();
    world.model.lock().life_begins(uptime);
    outcome
}

async fn life(world: &World, plan: &Plan, image: Image, ending: Ending) -> (Arc<Disk>, Image) {
    world.life_begins();
    world.trace(format!("the process starts: {ending:?}"));
    let fault = match ending {
        Ending::Crash { at_commit, .. } => at_commit.map_or(DiskFault::None, DiskFault::Crash),
        Ending::Failure { at_commit, .. } => DiskFault::Fail(at_commit),
        Ending::Stop { .. } | Ending::Calm => DiskFault::None,
    };
    let fail_stop = FailStop::new();
    let on_failure: OnFailure = {
        let (world, fail_stop) = (world.clone(), fail_stop.clone());
        Arc::new(move |error| {
            world.model.lock().storage_failed = true;
            fail_stop.trip(error.to_string());
        })
    };
    let disk = Disk::new(world, image, fault, on_failure);
    let ran = spawn_local(Arc::clone(&disk).run());
    match start(world, plan, &disk, &fail_stop) {
        Ok(process) => {
            tokio::select! {
                biased;
                () = disk.crashed.notified() => {}
                reason = fail_stop.tripped() => fail(world, reason).await,
                () = run_until(process, &disk, ending) => {}
            }
        }
        Err(error) => world.fault(format!("the process cannot start: {error}")),
    }
    ran.abort();
    world.life_ends();
    let image = disk.image();
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::from_image(image.clone()));
    match verify(&Store::new(engine), |_| {}) {
        Ok(report) => report
            .faults
            .into_iter()
            .for_each(|it| world.fault(format!("audit: {it}"))),
        Err(error) => world.fault(format!("audit: {error}")),
    }
    (disk, image)
}

fn start(
    world: &World,
    plan: &Plan,
    disk: &Arc<Disk>,
    fail_stop: &FailStop,
) -> Result<Process, StoreError> {
    let store = Store::new(Arc::clone(disk) as Arc<dyn Engine>);
    let rules = world.model.lock().rules.clone();
    let (wall, rng) = (world.clone(), world.rng.clone());
    let clock: Clock = Arc::new(move || Timestamp::from_millis(wall.now()));
    let jitter: Jitter = Arc::new(move || rng.fraction());
    let timeouts = [10, 30, 40].map(Duration::from_secs);
    let backends = plan
        .slots
        .iter()
        .zip(timeouts)
        .enumerate()
        .map(|(at, (slots, timeout))| Backend {
            name: backend_name(at),
            generator: Arc::new(SimulatedBackend::new(world, at, at == 2, timeout)),
            slots: *slots,
            is_shared: false,
            timeout,
            retries: plan.retries,
        });
    let route = |backend: usize, weight: Option<u32>| Route {
        backend,
        model: None,
        weight,
    };
    let of_tier = |tier: usize| {
        let backends = ROUTES[tier].iter();
        let routes = backends.map(|at| route(*at, plan.weights[*at].filter(|_| tier == 2)));
        routes.collect()
    };
    let system = System::start(SystemOptions {
        store: store.clone(),
        jobs: JobOptions {
            limits: Limits {
                max_live_per_account: rules.max_live,
                idempotency_retention: Duration::from_millis(rules.retention.unsigned_abs()),
            },
            max_runs: rules.max_runs,
            run_timeout: RUN_TIMEOUT,
            backends: backends.collect(),
            routes: Routes([0, 1, 2].map(of_tier)),
            job_objects: Arc::new(Shelf {
                world: world.clone(),
            }),
            input_fetcher: Arc::new(Shelf {
                world: world.clone(),
            }),
        },
        deliveries: DeliveryOptions {
            transport: Arc::new(Receivers::new(world)),
            retry_delays: rules
                .delays
                .iter()
                .map(|it| Duration::from_millis(it.unsigned_abs()))
                .collect(),
            limits: plan.delivery_limits,
        },
        process: ProcessOptions {
            clock,
            jitter,
            fail_stop: fail_stop.clone(),
            threads: Threads::Callers,
            ..ProcessOptions::default()
        },
    })?;
    Ok(Process {
        world: world.clone(),
        plan: plan.clone(),
        store,
        system: Arc::new(system),
        turn: Arc::default(),
    })
}

/// The service refuses all calls for a moment, then ends.
async fn fail(world: &World, reason: String) {
    world.trace(format!("the service stops: {reason}"));
    world.model.lock().count("storage failures");
    if !world.model.lock().storage_failed {
        world.fault(format!(
            "the service stopped although no commit failed: {reason}"
        ));
    }
    sleep(FAILURE_GRACE).await;
}

async fn run_until(process: Process, disk: &Disk, ending: Ending) {
    let world = process.world.clone();
    match ending {
        Ending::Crash { steps, .. } => {
            act(&process, steps).await;
            disk.crash();
        }
        Ending::Failure { steps, .. } => {
            act(&process, steps).await;
            // The life had too few commits for the failure.
            disk.crash();
        }
        Ending::Stop {
            steps,
            grace,
            death,
        } => {
            act(&process, steps).await;
            world.trace(format!("an orderly stop within {grace:?}"));
            world.model.lock().stopping = true;
            world.model.lock().count("orderly stops");
            let drained = process.system.drain(grace);
            match death {
                None => drained.await,
                Some(Death::AtCommit(commit)) => {
                    disk.crash_at(commit);
                    drained.await;
                }
                Some(Death::After(span)) => {
                    if timeout(span, drained).await.is_err() {
                        return disk.crash();
                    }
                }
            }
            let running = process.system.queue().depths().running;
            if running > 0 {
                world.fault(format!("{running} runs are left after an orderly stop"));
            }
            process.system.stop();
            disk.close();
        }
        Ending::Calm => calm(&process, disk).await,
    }
}

/// Takes random actions of every kind.
async fn act(process: &Process, steps: u64) {
    let (world, rng) = (&process.world, &process.world.rng);
    for _ in 0..steps {
        sleep(match rng.below(30) {
            0 => rng.millis(3_600_000, 20_000_000),
            1..4 => rng.millis(30_000, 900_000),
            4..16 => rng.millis(0, 30),
            _ => rng.millis(30, 4_000),
        })
        .await;
        let process = process.clone();
        match rng.below(52) {
            0..17 => {
                drop(clients::request(&process).map(|it| spawn_local(clients::send(process, it))))
            }
            17..22 => {
                let Some(request) = clients::repeat(&process) else {
                    continue;
                };
                // Sometimes twice at the same time.
                for _ in 0..1 + rng.below(2) {
                    spawn_local(clients::send(process.clone(), request));
                }
            }
            22..25 => drop(spawn_local(clients::cancel(process))),
            25..27 => clients::read_balance(&process),
            27..30 => drop(spawn_local(operator::deposit(process))),
            30..33 => drop(spawn_local(operator::webhook(process))),
            33..35 => drop(spawn_local(operator::redeliver(process))),
            35 => drop(spawn_local(operator::send_test(process))),
            36 => {
                let (project, tiers) = (rng.one_in(6), [0, 1, 2].map(|_| rng.one_in(3)));
                spawn_local(operator::pause(process, project, tiers));
            }
            37..39 => drop(spawn_local(operator::clean_up(process))),
            39..42 => drop(spawn_local(keys::change(process))),
            42..44 => drop(spawn_local(clients::cancel_batch(process))),
            44..46 => drop(spawn_local(operator::limit(process))),
            46..48 => drop(spawn_local(operator::delete_old_jobs(process))),
            48..51 => {
                let all = rng.one_in(5);
                let paused = [0, 1, 2].map(|_| all || rng.one_in(3));
                spawn_local(operator::pause_backends(process, paused));
            }
            _ => {
                let far = rng.one_in(3);
                let by = rng.between(-60_000, 60_000) * if far { 1_440 } else { 1 };
                world.model.lock().saw_clock(world.now());
                world.step_clock(by);
                world.model.lock().set_back += (-by).max(0);
                world.trace(format!("the clock is set by {by} ms"));
                world.model.lock().saw_clock(world.now());
                world.model.lock().count("clock steps");
            }
        }
    }
}

/// Injects no more failures, and waits until all pending work has finished.
async fn calm(process: &Process, disk: &Disk) {
    let world = &process.world;
    world.calm_down();
    operator::pause(process.clone(), false, [false; 3]).await;
    // Each tier has a backend in service, which finishes all work.
    let paused = [false, world.rng.one_in(3), world.rng.one_in(3)];
    operator::pause_backends(process.clone(), paused).await;
    let repeated: Vec<usize> = {
        let model = world.model.lock();
        let named = model
            .requests
            .iter()
            .enumerate()
            .filter(|(_, it)| it.name.is_some() && it.issues > 0);
        named.map(|(number, _)| number).rev().take(5).collect()
    };
    for request in repeated {
        spawn_local(clients::send(process.clone(), request));
    }
    let pending = world.model.lock().deliveries.pending();
    for _ in 0..CALM_MINUTES {
        sleep(Duration::from_secs(60)).await;
        let model = world.model.lock();
        if model.all_live() == 0 && model.deliveries.pending().is_empty() && disk.is_quiet() {
            break;
        }
    }
    world.model.lock().check_all_finished(world.now());
    for id in pending {
        let model = world.model.lock();
        let has_receiver = model.has_receiver(id);
        let is_delivered = model.deliveries.is_delivered(id);
        drop(model);
        if has_receiver && !is_delivered {
            world.fault(format!("delivery {id} was not delivered in the calm phase"));
        }
    }
    let (depths, live) = (
        process.system.queue().depths(),
        process.system.queue().live(),
    );
    let busy: usize = process.system.backends().iter().map(|it| it.running).sum();
    if depths.queued != [0; 3] || depths.running + live + busy > 0 {
        world.fault(format!(
            "after the calm phase: {depths:?}, {live} live jobs, {busy} slots taken"
        ));
    }
}
