//! The ports of a run: what makes a picture, and what keeps it.

use crate::breaker::Event;
use crate::progress::Progress;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::time::Duration;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{FailureKind, InputImage, Job, ResultImage, Words};
use tintype_storage::domain::tier::{Resolution, Tier};
use tokio::sync::watch;

/// What a back end is asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// The job, for logs and for back ends that resume by it.
    pub job: JobId,
    /// The tier of the job.
    pub tier: Tier,
    /// The back end's own name of the model, where the configuration gives one.
    pub model: Option<String>,
    /// What to show.
    pub prompt: String,
    /// The shape.
    pub ratio: AspectRatio,
    /// The size class.
    pub resolution: Resolution,
    /// Pixels, width by height, for back ends that take a size.
    pub pixels: (u32, u32),
    /// Input images, in the object store.
    pub inputs: Vec<InputImage>,
    /// Told how far the picture is, by generators that know. Nothing depends on it.
    pub progress: Progress,
    /// True once the process stops and cuts its runs off. The job is then run again after the restart, so a generator that
    /// can find its work again leaves it running when its future is dropped, instead of ending it.
    pub cut_off: watch::Receiver<bool>,
}

/// A picture as a back end gave it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The encoded image.
    pub bytes: Vec<u8>,
    /// Was it drawn in this very process? Then the gallery need not look whether it is sound and of the shape asked for.
    pub own: bool,
}

impl Picture {
    /// A picture that came from elsewhere, and is to be checked.
    pub fn foreign(bytes: Vec<u8>) -> Self {
        Self { bytes, own: false }
    }

    /// A picture drawn by this process, of exactly the pixels asked for.
    pub fn own(bytes: Vec<u8>) -> Self {
        Self { bytes, own: true }
    }
}

/// Why there is no picture. Texts are told to the caller: sentences without secrets, addresses or stacks.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The request itself is at fault: another try or back end would refuse it too.
    #[error("{0}")]
    Refused(String),
    /// The same, seen before a back end was asked, so it says nothing of any.
    #[error("{0}")]
    Unsound(String),
    /// The prompt or the picture was blocked.
    #[error("blocked for safety: {0}")]
    Blocked(String),
    /// The back end is well and made nothing of this request. Another try may, and says nothing of the back end's health.
    #[error("{0}")]
    NoPicture(String),
    /// It may work later or elsewhere.
    #[error("{reason}")]
    Transient {
        /// What happened.
        reason: String,
        /// How long the back end asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// It took too long. It may work later or elsewhere.
    #[error("{0}")]
    TimedOut(String),
    /// The back end is of no use for this, another one may be.
    #[error("{0}")]
    Broken(String),
    /// The back end was not asked, as it cannot be given this request. Another one may be.
    #[error("{0}")]
    NotAsked(String),
    /// What the service itself keeps could not be read or written. No other back end would help.
    #[error("{0}")]
    Storage(String),
}

impl GenerateError {
    /// What is recorded beside the sentence.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Refused(_) | Self::Unsound(_) => FailureKind::Refused,
            Self::Blocked(_) => FailureKind::Blocked,
            Self::Transient { .. } | Self::Storage(_) => FailureKind::Unavailable,
            Self::TimedOut(_) => FailureKind::TimedOut,
            Self::NoPicture(_) | Self::Broken(_) | Self::NotAsked(_) => FailureKind::Broken,
        }
    }

    /// What it says of the health of the back end that gave it; nothing where that was not asked.
    pub(crate) fn event(&self) -> Option<Event> {
        match self {
            Self::Transient { retry_after, .. } => Some(Event::Failed(*retry_after)),
            Self::TimedOut(_) => Some(Event::Failed(None)),
            Self::Refused(_) | Self::Blocked(_) | Self::NoPicture(_) | Self::Broken(_) => {
                Some(Event::Answered)
            }
            Self::Unsound(_) | Self::NotAsked(_) | Self::Storage(_) => None,
        }
    }

    /// May another try on the same back end do better?
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Transient { .. } | Self::TimedOut(_) | Self::NoPicture(_) | Self::Storage(_) => {
                true
            }
            Self::Refused(_)
            | Self::Unsound(_)
            | Self::Blocked(_)
            | Self::Broken(_)
            | Self::NotAsked(_) => false,
        }
    }

    /// Would another back end do no better?
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Unsound(_) | Self::Blocked(_) | Self::Storage(_) => true,
            Self::Transient { .. }
            | Self::TimedOut(_)
            | Self::NoPicture(_)
            | Self::Broken(_)
            | Self::NotAsked(_) => false,
        }
    }
}

/// Makes pictures. Its future runs on the arbiter of the jobs, so heavy work belongs on a pool of its own.
pub trait Generator: Send + Sync {
    /// Makes one picture. Dropping the future gives up.
    fn generate(&self, order: Order) -> LocalBoxFuture<'static, Result<Picture, GenerateError>>;

    /// Does it hold work for this order that an earlier run has left behind, done or not? Asked after a restart where a tier
    /// has several back ends, so that the run goes on where the work is. Most back ends keep none.
    fn holds(&self, _order: Order) -> LocalBoxFuture<'static, bool> {
        std::future::ready(false).boxed_local()
    }
}

/// Keeps pictures and reads words that were too large for a record.
pub trait Gallery: Send + Sync {
    /// Checks a picture and stores it durably as the result of a job, cropped to the job's ratio where it has another.
    ///
    /// What the picture is not, is the back end's fault, and another one may do better. [`GenerateError::Storage`] is told
    /// once the same picture could not be stored for a while: it is made and may have been paid for, so it is not thrown away
    /// at the first fault.
    fn keep(
        &self,
        job: &Job,
        picture: Picture,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>>;

    /// The words that were stored under `key`.
    fn words(&self, key: String) -> LocalBoxFuture<'static, Result<Words, GenerateError>>;

    /// Removes what only a live job needs: its input images. Its words stay, for its event tells of them.
    fn forget_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()>;
}
