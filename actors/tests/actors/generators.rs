//! A scripted generator, and an object store that records its calls.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::ports::{
    CheckedImage, GenerateError, GeneratedImage, GenerationTask, Generator, JobObjects, PortFuture,
    set_cause,
};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, PromptText, ResultImage};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// The bytes of a damaged image.
const DAMAGED: &[u8] = b"damaged";

/// The outcome of one task.
#[derive(Clone, Debug)]
pub enum Act {
    Image,
    /// An image that fails the check of the [`Shelf`].
    DamagedImage,
    /// An image after this time.
    Take(Duration),
    /// Reports half of the image, and after this time a transient failure.
    Half(Duration),
    Refused,
    Blocked,
    NoImage,
    Transient(Option<Duration>),
    Unreachable,
    BackendFault,
    Misconfigured,
    BackendRejectsAll,
    BackendLimit,
    Unsupported,
    InvalidRequest,
    Storage,
    Panic,
    /// Never answers.
    Hang,
}

/// One received task.
#[derive(Clone, Debug)]
pub struct ReceivedTask {
    pub job: JobId,
    pub prompt: String,
    pub model: Option<String>,
    pub at: Instant,
    /// Were runs being cut off when the task's future ended?
    pub cut_off: bool,
}

/// Follows its script task by task, then repeats one act.
#[derive(Clone)]
pub struct ScriptedGenerator {
    state: Arc<Mutex<State>>,
}

struct State {
    script: VecDeque<Act>,
    otherwise: Act,
    seen: Vec<ReceivedTask>,
    running: usize,
    peak: usize,
    holds_after: Option<Duration>,
}

/// Counts a run while its future lives.
struct Running {
    state: Arc<Mutex<State>>,
    number: usize,
    cut_off: watch::Receiver<bool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.running -= 1;
        let cut_off = *self.cut_off.borrow();
        if let Some(seen) = state.seen.get_mut(self.number) {
            seen.cut_off = cut_off;
        }
    }
}

impl ScriptedGenerator {
    pub fn new(script: impl IntoIterator<Item = Act>, otherwise: Act) -> Self {
        let state = State {
            script: script.into_iter().collect(),
            otherwise,
            seen: Vec::new(),
            running: 0,
            peak: 0,
            holds_after: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub fn always(act: Act) -> Self {
        Self::new([], act)
    }

    /// Makes [`Generator::holds`] return true after this time.
    pub fn has_earlier_work_after(&self, time: Duration) {
        self.state.lock().holds_after = Some(time);
    }

    /// All tasks so far.
    pub fn seen(&self) -> Vec<ReceivedTask> {
        self.state.lock().seen.clone()
    }

    pub fn prompts(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.prompt).collect()
    }

    /// The most concurrent runs.
    pub fn peak(&self) -> usize {
        self.state.lock().peak
    }

    pub fn running(&self) -> usize {
        self.state.lock().running
    }

    fn begin(&self, task: &GenerationTask) -> (Act, Running) {
        let mut state = self.state.lock();
        let number = state.seen.len();
        state.seen.push(ReceivedTask {
            job: task.job,
            prompt: task.prompt.clone(),
            model: task.model.clone(),
            at: Instant::now(),
            cut_off: false,
        });
        state.running += 1;
        state.peak = state.peak.max(state.running);
        let act = state.script.pop_front();
        let act = act.unwrap_or_else(|| state.otherwise.clone());
        let running = Running {
            state: Arc::clone(&self.state),
            number,
            cut_off: task.cut_off.clone(),
        };
        (act, running)
    }
}

impl Generator for ScriptedGenerator {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        let this = self.clone();
        async move {
            let (act, _running) = this.begin(&task);
            let image = GeneratedImage::own(task.prompt.into_bytes());
            match act {
                Act::Image => Ok(image),
                Act::DamagedImage => Ok(GeneratedImage::foreign(DAMAGED.to_vec())),
                Act::Take(time) => {
                    sleep(time).await;
                    Ok(image)
                }
                Act::Half(time) => {
                    task.progress.report(0.5);
                    sleep(time).await;
                    Err(GenerateError::Transient {
                        reason: "it is busy".into(),
                        retry_after: None,
                    })
                }
                Act::Refused => Err(GenerateError::Refused("no such thing".into())),
                Act::NoImage => Err(GenerateError::NoImage("only words".into())),
                Act::Blocked => Err(GenerateError::Blocked("violence".into())),
                Act::Transient(retry_after) => {
                    set_cause("its log says more");
                    Err(GenerateError::Transient {
                        reason: "it is busy".into(),
                        retry_after,
                    })
                }
                Act::Unreachable => Err(GenerateError::Unreachable("it is off".into())),
                Act::BackendFault => Err(GenerateError::BackendFault("it is broken".into())),
                Act::Misconfigured => Err(GenerateError::Misconfigured("it has no model".into())),
                Act::BackendRejectsAll => {
                    Err(GenerateError::BackendRejectsAll("its key is wrong".into()))
                }
                Act::BackendLimit => Err(GenerateError::BackendLimit("it is too large".into())),
                Act::Unsupported => {
                    Err(GenerateError::Unsupported("it takes no such thing".into()))
                }
                Act::InvalidRequest => {
                    Err(GenerateError::InvalidRequest("the input is damaged".into()))
                }
                Act::Storage => Err(GenerateError::Storage("the disk is gone".into())),
                Act::Panic => panic!("as the script says"),
                Act::Hang => std::future::pending().await,
            }
        }
        .boxed_local()
    }

    fn has_earlier_work(&self, _: GenerationTask) -> LocalBoxFuture<'static, bool> {
        let after = self.state.lock().holds_after;
        async move {
            if let Some(time) = after {
                sleep(time).await;
            }
            after.is_some()
        }
        .boxed_local()
    }
}

/// An image store that records its calls.
#[derive(Clone, Default)]
pub struct Shelf {
    state: Arc<Mutex<ShelfState>>,
}

#[derive(Default)]
struct ShelfState {
    kept: Vec<JobId>,
    forgotten: Vec<JobId>,
    refuses: bool,
    is_full: bool,
    hangs: bool,
    is_lost: bool,
    takes: Duration,
}

impl Shelf {
    /// Jobs whose image was stored.
    pub fn kept(&self) -> Vec<JobId> {
        self.state.lock().kept.clone()
    }

    /// Jobs whose inputs were deleted.
    pub fn forgotten(&self) -> Vec<JobId> {
        self.state.lock().forgotten.clone()
    }

    /// Makes every further image fail its check.
    pub fn refuse(&self) {
        self.state.lock().refuses = true;
    }

    /// Makes every further deletion hang.
    pub fn hang(&self) {
        self.state.lock().hangs = true;
    }

    /// Makes every further write take this time.
    pub fn take(&self, time: Duration) {
        self.state.lock().takes = time;
    }

    /// Makes the store known to fail, or to work again.
    pub fn set_lost(&self, is_lost: bool) {
        self.state.lock().is_lost = is_lost;
    }

    /// Makes every further write fail.
    pub fn fill(&self) {
        self.state.lock().is_full = true;
    }
}

impl JobObjects for Shelf {
    fn is_usable(&self) -> bool {
        !self.state.lock().is_lost
    }

    fn check_image(&self, _: &Job, image: GeneratedImage) -> PortFuture<CheckedImage> {
        let state = self.state.lock();
        let takes = if state.refuses {
            state.takes
        } else {
            Duration::ZERO
        };
        let outcome = match state.refuses || image.bytes == DAMAGED {
            true => Err(GenerateError::BackendFault("it is not an image".into())),
            false => Ok(CheckedImage {
                bytes: image.bytes,
                width: 1,
                height: 1,
            }),
        };
        async move {
            sleep(takes).await;
            outcome
        }
        .boxed_local()
    }

    fn store_image(&self, job: &Job, image: CheckedImage) -> PortFuture<ResultImage> {
        let mut state = self.state.lock();
        let outcome = if state.is_full {
            Err(GenerateError::Storage("the shelf is full".into()))
        } else {
            state.kept.push(job.id);
            Ok(ResultImage {
                key: format!("results/{}.png", job.id),
                bytes: image.bytes.len() as u64,
                width: image.width,
                height: image.height,
                backend: None,
            })
        };
        let takes = state.takes;
        async move {
            sleep(takes).await;
            outcome
        }
        .boxed_local()
    }

    fn read_prompt(&self, key: String) -> PortFuture<PromptText> {
        let text = PromptText {
            prompt: format!("the prompt at {key}"),
            metadata: None,
        };
        async move { Ok(text) }.boxed_local()
    }

    fn delete_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()> {
        let mut state = self.state.lock();
        state.forgotten.push(job.id);
        match state.hangs {
            true => pending().boxed_local(),
            false => async {}.boxed_local(),
        }
    }
}
