//! The ports: the traits through which the actors use the rest of the process, and their types. No port imports another module of this
//! crate.

mod cause;
mod failure;
mod generator;
mod input_fetcher;
mod job_objects;
mod observer;
mod outcome;
mod progress;
mod transport;

pub use cause::set_cause;
pub(crate) use cause::with_cause;
pub(crate) use failure::BreakerEffect;
pub use failure::{GenerateError, PortFuture};
pub use generator::{CheckedImage, GeneratedImage, GenerationTask, Generator};
pub use input_fetcher::{FetchedInputs, InputFetcher};
pub use job_objects::{JobObjects, OBJECT_STORE_TARGET};
pub use observer::{AttemptReport, Observer, RunEnd, RunReport};
pub use outcome::{BackendAttemptOutcome, JobOutcome};
pub use progress::{Preview, Progress};
pub use transport::{AttemptOutcome, Transport};
