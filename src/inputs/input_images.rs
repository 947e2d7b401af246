//! What the input images of all calls share: clients, stores, limits and memory.

use super::call_inputs::CallInputs;
use super::fetch::OwnFiles;
use super::limits::InputLimits;
use super::upload::discard;
use super::{MemoryBudget, MemoryUnavailable, Reservation};
use crate::config::{Config, Inputs};
use crate::objects::ObjectStorage;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_egress::Client;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::InputImage;
use tintype_storage::store::Store;

/// Shared by all calls and by the jobs of batches.
pub struct InputImages {
    pub config: Inputs,
    /// For input images in transit, and for large bodies.
    pub memory: MemoryBudget,
    memory_timeout: Duration,
    egress: Client,
    objects: ObjectStorage,
    /// Of the images behind download URLs.
    records: Store,
    clock: Clock,
}

impl InputImages {
    pub fn new(
        config: &Config,
        egress: Client,
        objects: ObjectStorage,
        records: Store,
        clock: Clock,
    ) -> Self {
        Self {
            config: config.inputs.clone(),
            memory: MemoryBudget::new(config.limits.ingest_bytes),
            // Shorter than the body timeout, so that an upload does not time out while it waits for memory.
            memory_timeout: config.inputs.timeout().min(config.server.body_timeout()) / 2,
            egress,
            objects,
            records,
            clock,
        }
    }

    /// The images of a new call of this account.
    pub fn of(&self, account: AccountId) -> CallInputs<'_> {
        let limits = InputLimits {
            timeout: self.config.timeout(),
            max_total_bytes: self.config.max_total_bytes,
            max_pixels: self.config.max_pixels,
            memory: self.memory.of(account, self.memory_timeout),
        };
        let own_files = OwnFiles {
            objects: &self.objects,
            records: &self.records,
            account,
            clock: &self.clock,
        };
        CallInputs::new(&self.egress, own_files, limits)
    }

    /// Waits for `bytes` of memory, for a body that is held whole.
    ///
    /// # Errors
    /// No memory became free in time.
    pub async fn reserve(
        &self,
        account: AccountId,
        bytes: u64,
    ) -> Result<Reservation, MemoryUnavailable> {
        let memory = self.memory.of(account, self.memory_timeout);
        memory.reserve_whole(bytes).await
    }

    /// Deletes fetched images that are no longer needed. Logs failures.
    pub async fn discard(&self, images: &[InputImage]) {
        discard(self.objects.store().as_ref(), images).await;
    }
}
