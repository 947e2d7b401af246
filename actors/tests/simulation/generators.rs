//! Back ends and the gallery, as chance has them: they fail, hang, panic, are late, and now and then make a picture.

use crate::world::{ON_PURPOSE, World};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::time::Duration;
use tintype_actors::ports::{
    FetchedInputs, GenerateError, GenerationTask, Generator, ImageStore, InputFetcher, Picture,
};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{FailureKind, InputImage, Job, PromptText, ResultImage};
use tokio::time::{Instant, sleep};

/// What a back end does with one order.
#[derive(Clone, Copy, Debug)]
enum Act {
    Picture,
    Busy,
    Slow,
    Refuse,
    Block,
    Nothing,
    Broken,
    Panic,
    Hang,
}

const ACTS: [Act; 20] = [
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Picture,
    Act::Slow,
    Act::Slow,
    Act::Busy,
    Act::Busy,
    Act::Refuse,
    Act::Block,
    Act::Nothing,
    Act::Broken,
    Act::Panic,
    Act::Hang,
];

/// A back end.
pub struct Simulated {
    pub world: World,
    /// Its work goes on when it is not waited for any more, and is found again.
    pub keeps_work: bool,
    /// How long it is waited for.
    pub timeout: Duration,
    pub down_until: Mutex<Option<Instant>>,
}

impl Simulated {
    pub fn new(world: &World, keeps_work: bool, timeout: Duration) -> Self {
        Self {
            world: world.clone(),
            keeps_work,
            timeout,
            down_until: Mutex::new(None),
        }
    }

    fn act(&self) -> Act {
        let chance = &self.world.chance;
        if self.world.is_calm() {
            return Act::Picture;
        }
        let mut down_until = self.down_until.lock();
        if chance.one_in(40) {
            *down_until = Some(Instant::now() + chance.millis(5_000, 180_000));
        }
        match *down_until {
            Some(until) if Instant::now() < until => Act::Busy,
            _ => chance.pick(&ACTS).unwrap_or(Act::Picture),
        }
    }

    fn cause(&self, job: JobId, kind: FailureKind) {
        let mut model = self.world.model.lock();
        model.gave_cause(job, kind);
        // Together with waits and other back ends it may take the run past its time.
        model.gave_cause(job, FailureKind::TimedOut);
    }
}

impl Generator for Simulated {
    fn generate(
        &self,
        order: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        self.world.model.lock().generating(order.job, &order.prompt);
        let (world, job, act) = (self.world.clone(), order.job, self.act());
        if self.keeps_work && matches!(act, Act::Picture | Act::Slow) {
            return self.resume(job);
        }
        let short = world.chance.millis(1, 4_000);
        let transient = |retry_after| GenerateError::Transient {
            reason: "it is busy".into(),
            retry_after,
        };
        let (wait, outcome) = match act {
            Act::Picture => (short, Ok(Picture::own(vec![1]))),
            // Perhaps after it is no longer waited for.
            Act::Slow => (
                world.chance.millis(4_000, 45_000),
                Ok(Picture::own(vec![1])),
            ),
            Act::Busy => (
                world.chance.millis(0, 50),
                Err(transient(
                    world
                        .chance
                        .one_in(3)
                        .then(|| world.chance.millis(100, 20_000)),
                )),
            ),
            Act::Refuse => (short, Err(GenerateError::Refused("no such thing".into()))),
            Act::Block => (short, Err(GenerateError::Blocked("violence".into()))),
            Act::Nothing => (short, Err(GenerateError::NoPicture("only words".into()))),
            Act::Broken => (short, Err(GenerateError::Broken("it is broken".into()))),
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
                Act::Panic => panic!("{ON_PURPOSE}"),
                Act::Hang => std::future::pending().await,
                _ => outcome,
            }
        }
        .boxed_local()
    }

    fn holds(&self, order: GenerationTask) -> LocalBoxFuture<'static, bool> {
        let held = self.keeps_work && self.world.kept_work(order.job).is_some();
        let wait = match self.world.is_calm() {
            true => Duration::ZERO,
            false => self.world.chance.millis(0, 12_000),
        };
        async move {
            sleep(wait).await;
            held
        }
        .boxed_local()
    }
}

impl Simulated {
    /// Begins work that goes on by itself, or finds it again.
    fn resume(&self, job: JobId) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        let world = self.world.clone();
        let done = world.kept_work(job).unwrap_or_else(|| {
            let done = world.uptime() + world.chance.between(500, 70_000);
            world.keep_work(job, done);
            done
        });
        let wait = u64::try_from(done - world.uptime()).unwrap_or(0);
        self.cause(job, FailureKind::TimedOut);
        async move {
            sleep(Duration::from_millis(wait)).await;
            world.forget_work(job);
            Ok(Picture::own(vec![1]))
        }
        .boxed_local()
    }
}

impl InputFetcher for Shelf {
    fn fetch(&self, job: &Job) -> LocalBoxFuture<'static, Result<FetchedInputs, GenerateError>> {
        let (world, id, ratio) = (self.world.clone(), job.id, job.ratio);
        let trouble = match world.is_calm() {
            true => 99,
            false => world.chance.below(20),
        };
        let wait = world.chance.millis(0, 5_000);
        async move {
            sleep(wait).await;
            if trouble < 3 {
                world.model.lock().gave_cause(id, FailureKind::Refused);
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

/// Where pictures are kept.
pub struct Shelf {
    pub world: World,
}

impl ImageStore for Shelf {
    fn keep(
        &self,
        job: &Job,
        _: Picture,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>> {
        let (world, id) = (self.world.clone(), job.id);
        let trouble = if world.is_calm() {
            99
        } else {
            world.chance.below(60)
        };
        let wait = match trouble {
            0..4 => world.chance.millis(1_000, 20_000),
            _ => world.chance.millis(0, 30),
        };
        async move {
            sleep(wait).await;
            if trouble < 6 {
                world.model.lock().gave_cause(id, FailureKind::Broken);
            }
            match trouble {
                0 | 4 => panic!("{ON_PURPOSE}"),
                1 | 5 => return Err(GenerateError::Broken("the shelf is full".into())),
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

    fn read_prompt(
        &self,
        key: String,
    ) -> LocalBoxFuture<'static, Result<PromptText, GenerateError>> {
        let world = self.world.clone();
        let fails = !world.is_calm() && world.chance.one_in(12);
        if fails {
            world.model.lock().words_failed(&key);
        }
        let number = key.trim_start_matches("words/").to_owned();
        let words = PromptText {
            prompt: format!("request {number}"),
            metadata: None,
        };
        async move {
            sleep(Duration::from_millis(1)).await;
            match fails {
                true => Err(GenerateError::Broken("the words are gone".into())),
                false => Ok(words),
            }
        }
        .boxed_local()
    }

    fn forget_inputs(&self, _: &Job) -> LocalBoxFuture<'static, ()> {
        let world = self.world.clone();
        let panics = !world.is_calm() && world.chance.one_in(30);
        // A store that says nothing for minutes.
        let hangs = !world.is_calm() && world.chance.one_in(30);
        async move {
            sleep(Duration::from_millis(if hangs { 300_000 } else { 1 })).await;
            if panics {
                panic!("{ON_PURPOSE}");
            }
        }
        .boxed_local()
    }
}
