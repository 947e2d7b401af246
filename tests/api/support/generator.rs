//! A generator that does what a test tells it, and remembers what it was asked for.

use super::pictures::tiny_png;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture};
use tokio::sync::Semaphore;

/// How a run ends.
#[derive(Clone, Debug, Default)]
pub enum Behaviour {
    /// With a picture.
    #[default]
    Succeed,
    /// With this picture.
    Show(Vec<u8>),
    /// With bytes that are no picture.
    Garbage,
    /// The request is at fault.
    Refuse(&'static str),
    /// Blocked for safety.
    Block(&'static str),
    /// May work later; the back end of the tests has no retries.
    Transient(&'static str),
    /// The back end is of no use.
    Break(&'static str),
    /// With a panic.
    Panic,
}

#[derive(Default)]
struct Script {
    behaviour: Behaviour,
    holds: bool,
    orders: Vec<GenerationTask>,
}

struct Shared {
    script: Mutex<Script>,
    released: Semaphore,
}

/// The generator. A clone is the same one.
#[derive(Clone)]
pub struct TestGenerator(Arc<Shared>);

impl Default for TestGenerator {
    fn default() -> Self {
        Self(Arc::new(Shared {
            script: Mutex::default(),
            released: Semaphore::new(0),
        }))
    }
}

impl TestGenerator {
    /// How runs end from now on; a run that is held ends as is set when it is released.
    pub fn behave(&self, behaviour: Behaviour) {
        self.0.script.lock().behaviour = behaviour;
    }

    /// Holds every run from now on, until it is released.
    pub fn hold(&self) {
        self.0.script.lock().holds = true;
    }

    /// Lets one held run go on.
    pub fn release_one(&self) {
        self.0.released.add_permits(1);
    }

    /// Holds no more.
    pub fn release_all(&self) {
        let mut script = self.0.script.lock();
        script.holds = false;
        self.0.released.add_permits(script.orders.len());
    }

    /// What was asked for so far.
    pub fn orders(&self) -> Vec<GenerationTask> {
        self.0.script.lock().orders.clone()
    }

    /// How many runs have begun so far.
    pub fn runs(&self) -> usize {
        self.0.script.lock().orders.len()
    }
}

impl Generator for TestGenerator {
    fn generate(
        &self,
        order: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        let shared = Arc::clone(&self.0);
        async move {
            let holds = {
                let mut script = shared.script.lock();
                script.orders.push(order);
                script.holds
            };
            if holds {
                shared.released.acquire().await.unwrap().forget();
            }
            let behaviour = shared.script.lock().behaviour.clone();
            outcome(behaviour)
        }
        .boxed_local()
    }
}

fn outcome(behaviour: Behaviour) -> Result<Picture, GenerateError> {
    match behaviour {
        Behaviour::Succeed => Ok(Picture::own(tiny_png())),
        Behaviour::Show(picture) => Ok(Picture::own(picture)),
        Behaviour::Garbage => Ok(Picture::foreign(b"no picture".to_vec())),
        Behaviour::Refuse(why) => Err(GenerateError::Refused(why.into())),
        Behaviour::Block(why) => Err(GenerateError::Blocked(why.into())),
        Behaviour::Transient(why) => Err(GenerateError::Transient {
            reason: why.into(),
            retry_after: Some(Duration::ZERO),
        }),
        Behaviour::Break(why) => Err(GenerateError::Broken(why.into())),
        Behaviour::Panic => panic!("the test generator was told to panic"),
    }
}
