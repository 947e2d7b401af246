//! A generator that tests script, and that records its tasks.

use super::sample_images::tiny_png;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::ports::{GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture};
use tokio::sync::Semaphore;

#[derive(Clone, Debug, Default)]
pub enum Behaviour {
    #[default]
    Succeed,
    Show(Vec<u8>),
    /// Returns an image as a remote backend does, so that the server checks it.
    Send(Vec<u8>),
    /// Returns bytes that are not an image.
    Garbage,
    /// Rejects the request.
    Refuse(&'static str),
    /// Does not support the request.
    NotAsk(&'static str),
    /// Blocked for safety.
    Block(&'static str),
    /// A retryable error; the backend of the tests has no retries.
    Transient(&'static str),
    /// The backend fails.
    Break(&'static str),
    /// No connection to the backend; the backend of the tests has no retries.
    Unreachable,
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

/// Clones share one script.
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
    /// Sets how runs end. A held run ends with the behaviour that is set when the test releases it.
    pub fn behave(&self, behaviour: Behaviour) {
        self.0.script.lock().behaviour = behaviour;
    }

    /// Holds every run until the test releases it.
    pub fn hold(&self) {
        self.0.script.lock().holds = true;
    }

    pub fn release_one(&self) {
        self.0.released.add_permits(1);
    }

    /// Releases all held runs and stops holding.
    pub fn release_all(&self) {
        let mut script = self.0.script.lock();
        script.holds = false;
        self.0.released.add_permits(script.orders.len());
    }

    /// All tasks so far.
    pub fn orders(&self) -> Vec<GenerationTask> {
        self.0.script.lock().orders.clone()
    }

    /// Number of runs started so far.
    pub fn runs(&self) -> usize {
        self.0.script.lock().orders.len()
    }
}

impl Generator for TestGenerator {
    fn generate(&self, order: GenerationTask) -> PortFuture<GeneratedImage> {
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

fn outcome(behaviour: Behaviour) -> Result<GeneratedImage, GenerateError> {
    match behaviour {
        Behaviour::Succeed => Ok(GeneratedImage::own(tiny_png())),
        Behaviour::Show(image) => Ok(GeneratedImage::own(image)),
        Behaviour::Send(image) => Ok(GeneratedImage::foreign(image)),
        Behaviour::Garbage => Ok(GeneratedImage::foreign(b"no image".to_vec())),
        Behaviour::Refuse(why) => Err(GenerateError::Refused(why.into())),
        Behaviour::NotAsk(why) => Err(GenerateError::Unsupported(why.into())),
        Behaviour::Block(why) => Err(GenerateError::Blocked(why.into())),
        Behaviour::Transient(why) => Err(GenerateError::Transient {
            reason: why.into(),
            retry_after: Some(Duration::ZERO),
        }),
        Behaviour::Break(why) => Err(GenerateError::BackendFault(why.into())),
        Behaviour::Unreachable => Err(GenerateError::Unreachable("it is off".into())),
        Behaviour::Panic => panic!("the test asked the generator to panic"),
    }
}
