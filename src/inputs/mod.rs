//! Input images: fetched from the caller's URLs while the call waits, and streamed into the object store.
//!
//! No image is held whole in memory: each takes at most 5 MiB (S3's smallest part) and 1 MiB for the connection, out of a budget
//! that all calls share. The format comes from the first bytes and the size from the image header. No pixel is decoded.

mod call_inputs;
mod deletion;
mod fault;
mod fetch;
mod input_images;
mod limits;
pub mod mask;
mod memory_budget;
#[cfg(test)]
mod tests;
mod upload;

use object_store::ObjectStore;
use std::sync::Arc;
use tintype_storage::domain::job::InputImage;

pub use call_inputs::CallInputs;
pub use deletion::InputDeletion;
pub use fault::{FIELD, IngestError, InputFaults, StoreFault, UploadFault};
pub use input_images::InputImages;
pub use memory_budget::{MemoryBudget, MemoryUnavailable, Reservation};
pub use upload::{BodyUpload, StoredUpload};

type SharedStore = Arc<dyn ObjectStore>;
