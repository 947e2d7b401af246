//! The memory budget for input images on their way to the object store, shared by all calls. Accounts take turns, and one account
//! holds at most half.

use std::time::Duration;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tintype_storage::domain::ids::AccountId;
use tokio::time::timeout;

/// The minimum of S3, R2 and GCS for every part but the last. It is also the memory of one upload.
pub(super) const PART_BYTES: usize = 5 << 20;
/// The memory of one image: the part being filled, and the buffers of the connection.
const IMAGE_BYTES: u64 = PART_BYTES as u64 + (1 << 20);
/// The connection buffers of a small image.
const TRANSIT_BYTES: u64 = 64 * 1024;
/// Concurrent fetches over all calls. The memory of an image is known only after the response, so memory does not limit connections
/// that wait for one; thousands of them would slow down every other call.
const MAX_FETCHES: u64 = 256;

/// Clones share the budget.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    bytes: FairSemaphore<AccountId>,
    fetches: FairSemaphore<AccountId>,
}

/// Reserved memory, or a permit for one fetch. Dropping it releases it.
pub type Reservation = Permit<AccountId>;

/// The budget for the calls of one account.
#[derive(Clone, Debug)]
pub struct AccountMemory {
    budget: MemoryBudget,
    account: AccountId,
    timeout: Duration,
}

/// No memory became free in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many large requests at once; try again in a moment")]
pub struct MemoryUnavailable;

impl MemoryBudget {
    pub fn new(bytes: u64) -> Self {
        Self::with_fetches(bytes, MAX_FETCHES)
    }

    pub(super) fn with_fetches(bytes: u64, fetches: u64) -> Self {
        Self {
            bytes: FairSemaphore::new(bytes, bytes / 2),
            fetches: FairSemaphore::new(fetches, fetches / 2),
        }
    }

    /// The budget for the calls of this account, which wait for memory at most `timeout`.
    pub fn of(&self, account: AccountId, timeout: Duration) -> AccountMemory {
        AccountMemory {
            budget: self.clone(),
            account,
            timeout,
        }
    }

    pub fn free(&self) -> u64 {
        self.bytes.free()
    }
}

impl AccountMemory {
    /// Waits for a fetch permit. Hold it from before the connection until the image is stored.
    pub async fn begin_fetch(&self) -> Reservation {
        self.budget.fetches.acquire(self.account, 1).await
    }

    /// Waits for the memory of one image of the given length, if known. A small image can be in memory four times: in the connection's
    /// buffer, in two chunks on the way, and in the part being filled.
    pub async fn reserve(&self, length: Option<u64>) -> Reservation {
        let bytes = length.map_or(IMAGE_BYTES, |it| {
            it.saturating_mul(4)
                .saturating_add(TRANSIT_BYTES)
                .min(IMAGE_BYTES)
        });
        self.budget.bytes.acquire(self.account, bytes).await
    }

    /// Waits for `bytes` of memory, for a body that is held whole.
    ///
    /// # Errors
    /// When the memory is not free within the account's timeout.
    pub async fn reserve_whole(&self, bytes: u64) -> Result<Reservation, MemoryUnavailable> {
        let reserved = self.budget.bytes.acquire(self.account, bytes);
        timeout(self.timeout, reserved)
            .await
            .map_err(|_| MemoryUnavailable)
    }

    /// As [`reserve`](Self::reserve) for an upload of unknown length.
    ///
    /// # Errors
    /// When the memory is not free within the account's timeout.
    pub async fn reserve_soon(&self) -> Result<Reservation, MemoryUnavailable> {
        let reserved = timeout(self.timeout, self.reserve(None)).await;
        reserved.map_err(|_| MemoryUnavailable)
    }
}
