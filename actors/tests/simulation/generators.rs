//! Backends and the image store with random behaviour: they succeed, fail, hang, panic and are slow.

use crate::world::{EXPECTED_PANIC, World};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::future::ready;
use std::time::Duration;
use tintype_actors::ports::{
    CheckedImage, FetchedInputs, GenerateError, GeneratedImage, GenerationTask, Generator,
    InputFetcher, JobObjects, PortFuture,
};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{FailureKind, InputImage, Job, PromptText, ResultImage};
use tokio::time::{Instant, sleep};

/// The behaviour of a backend for one task.
#[derive(Clone, Copy, Debug)]
enum Act {
    Image,
    Transient,
    Slow,
    Refused,
    Blocked,
    NoImage,
    BackendFault,
    Panic,
    Hang,
}

const ACTS: [Act; 20] = [
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Image,
    Act::Slow,
    Act::Slow,
    Act::Transient,
    Act::Transient,
    Act::Refused,
    Act::Blocked,
    Act::NoImage,
    Act::BackendFault,
    Act::Panic,
    Act::Hang,
];

/// A backend.
pub struct SimulatedBackend {
    pub world: World,
    pub number: usize,
    /// Does the work go on without its caller, so that a later run finds it?
    pub keeps_work: bool,
    /// The timeout of a try.
    pub timeout: Duration,
    pub down_until: Mutex<Option<Instant>>,
}

impl SimulatedBackend {
    pub fn new(world: &World, number: usize, keeps_work: bool, timeout: Duration) -> Self {
        Self {
            world: world.clone(),
            number,
            keeps_work,
            timeout,
            down_until: Mutex::new(None),
        }
    }

    fn act(&self) -> Act {
        let rng = &self.world.rng;
        if self.world.is_calm() {
            return Act::Image;
        }
        let mut down_until = self.down_until.lock();
        if rng.one_in(40) {
            *down_until = Some(Instant::now() + rng.millis(5_000, 180_000));
        }
        match *down_until {
            Some(until) if Instant::now() < until => Act::Transient,
            _ => rng.pick(&ACTS).unwrap_or(Act::Image),
        }
    }

    fn cause(&self, job: JobId, kind: FailureKind) {
        let mut model = self.world.model.lock();
        model.allow_failure(job, kind);
        // Together with waits and other backends the try may exceed the deadline of the run.
        model.allow_failure(job, FailureKind::TimedOut);
    }
}

impl Generator for SimulatedBackend {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        self.world.model.lock().generating(task.job, &task.prompt);
        self.world.model.lock().attempted(self.number);
        let (world, job, act) = (self.world.clone(), task.job, self.act());
        if self.keeps_work && matches!(act, Act::Image | Act::Slow) {
            return self.resume(job);
        }
        let short = world.rng.millis(1, 4_000);
        let transient = |retry_after| GenerateError::Transient {
            reason: "it is busy".into(),
            retry_after,
        };
        let (wait, outcome) = match act {
            Act::Image => (short, Ok(GeneratedImage::own(vec![1]))),
            // Sometimes after the timeout.
            Act::Slow => (
                world.rng.millis(4_000, 45_000),
                Ok(GeneratedImage::own(vec![1])),
            ),
            Act::Transient => (
                world.rng.millis(0, 50),
                Err(transient(
                    world.rng.one_in(3).then(|| world.rng.millis(100, 20_000)),
                )),
            ),
            Act::Refused => (short, Err(GenerateError::Refused("no such thing".into()))),
            Act::Blocked => (short, Err(GenerateError::Blocked("violence".into()))),
            Act::NoImage => (short, Err(GenerateError::NoImage("only words".into()))),
            Act::BackendFault => (
                short,
                Err(GenerateError::BackendFault("it is broken".into())),
            ),
            Act::Panic | Act::Hang => (short, Err(transient(None))),
        };
        match &outcome {
            Err(error) => self.cause(job, error.kind()),
            Ok(_) if wait >= self.timeout => self.cause(job, FailureKind::TimedOut),
            Ok(_) => {}
        }
        if matches!(act, Act::Panic) {
            self.cause(job, FailureKind::Broken);
        }
        async move {
            sleep(wait).await;
            match act {
                Act::Panic => panic!("{EXPECTED_PANIC}"),
                Act::Hang => std::future::pending().await,
                _ => outcome,
            }
        }
        .boxed_local()
    }

    fn has_earlier_work(&self, task: GenerationTask) -> LocalBoxFuture<'static, bool> {
        let held = self.keeps_work && self.world.kept_work(task.job).is_some();
        let wait = match self.world.is_calm() {
            true => Duration::ZERO,
            false => self.world.rng.millis(0, 12_000),
        };
        async move {
            sleep(wait).await;
            held
        }
        .boxed_local()
    }
}

impl SimulatedBackend {
    /// Starts work that goes on without its caller, or finds the work of an earlier run.
    fn resume(&self, job: JobId) -> PortFuture<GeneratedImage> {
        let world = self.world.clone();
        let done = world.kept_work(job).unwrap_or_else(|| {
            let done = world.uptime() + world.rng.between(500, 70_000);
            world.keep_work(job, done);
            done
        });
        let wait = u64::try_from(done - world.uptime()).unwrap_or(0);
        self.cause(job, FailureKind::TimedOut);
        async move {
            sleep(Duration::from_millis(wait)).await;
            world.forget_work(job);
            Ok(GeneratedImage::own(vec![1]))
        }
        .boxed_local()
    }
}

impl InputFetcher for Shelf {
    fn fetch(&self, job: &Job) -> PortFuture<FetchedInputs> {
        let (world, id, ratio) = (self.world.clone(), job.id, job.ratio);
        let trouble = match world.is_calm() {
            true => 99,
            false => world.rng.below(20),
        };
        let wait = world.rng.millis(0, 5_000);
        async move {
            sleep(wait).await;
            if trouble < 3 {
                world.model.lock().allow_failure(id, FailureKind::Refused);
                return Err(GenerateError::Refused("there is no image".into()));
            }
            let bytes = world.number();
            let image = InputImage {
                key: format!("inputs/{id}"),
                bytes,
                width: 1,
                height: 1,
            };
            world.model.lock().fetched(id, bytes);
            Ok(FetchedInputs {
                inputs: vec![image],
                ratio,
            })
        }
        .boxed_local()
    }
}

/// The image store.
pub struct Shelf {
    pub world: World,
}

impl JobObjects for Shelf {
    fn check_image(&self, job: &Job, image: GeneratedImage) -> PortFuture<CheckedImage> {
        let checked = match !self.world.is_calm() && self.world.rng.one_in(30) {
            true => {
                let mut model = self.world.model.lock();
                model.allow_failure(job.id, FailureKind::Broken);
                Err(GenerateError::BackendFault("it is not an image".into()))
            }
            false => Ok(CheckedImage {
                bytes: image.bytes,
                width: 1,
                height: 1,
            }),
        };
        ready(checked).boxed_local()
    }

    fn store_image(&self, job: &Job, _: CheckedImage) -> PortFuture<ResultImage> {
        let (world, id) = (self.world.clone(), job.id);
        let trouble = if world.is_calm() {
            99
        } else {
            world.rng.below(60)
        };
        let wait = match trouble {
            0..4 => world.rng.millis(1_000, 20_000),
            _ => world.rng.millis(0, 30),
        };
        async move {
            sleep(wait).await;
            let kind = match trouble {
                1 | 5 => FailureKind::Unavailable,
                _ => FailureKind::Broken,
            };
            if trouble < 6 {
                world.model.lock().allow_failure(id, kind);
            }
            match trouble {
                0 | 4 => panic!("{EXPECTED_PANIC}"),
                1 | 5 => return Err(GenerateError::Storage("the shelf is full".into())),
                _ => {}
            }
            let bytes = world.number();
            world.model.lock().kept(id, bytes);
            let key = format!("results/{id}.png");
            Ok(ResultImage {
                key,
                bytes,
                width: 1,
                height: 1,
                backend: None,
            })
        }
        .boxed_local()
    }

    fn read_prompt(&self, key: String) -> PortFuture<PromptText> {
        let world = self.world.clone();
        let fails = !world.is_calm() && world.rng.one_in(12);
        if fails {
            world.model.lock().prompt_failed(&key);
        }
        let number = key.trim_start_matches("words/").to_owned();
        let words = PromptText {
            prompt: format!("request {number}"),
            metadata: None,
        };
        async move {
            sleep(Duration::from_millis(1)).await;
            match fails {
                true => Err(GenerateError::BackendFault("the prompt is gone".into())),
                false => Ok(words),
            }
        }
        .boxed_local()
    }

    fn delete_inputs(&self, _: &Job) -> LocalBoxFuture<'static, ()> {
        let world = self.world.clone();
        let panics = !world.is_calm() && world.rng.one_in(30);
        // A store that does not answer for minutes.
        let hangs = !world.is_calm() && world.rng.one_in(30);
        async move {
            sleep(Duration::from_millis(if hangs { 300_000 } else { 1 })).await;
            if panics {
                panic!("{EXPECTED_PANIC}");
            }
        }
        .boxed_local()
    }
}
