//! The memory that callers make the service hold, over all calls: input images that are fetched or uploaded pass through it on
//! their way to the object store. Accounts take turns for it, and one account holds at most half.

use std::time::Duration;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tintype_storage::domain::ids::AccountId;
use tokio::time::timeout;
use uuid::Uuid;

use super::upload::PART_BYTES;

/// What one image takes on its way: a part that fills, and what lies between it and the connection.
const IMAGE_BYTES: u64 = PART_BYTES as u64 + (1 << 20);
/// What the connection of a smaller image takes besides.
const TRANSIT_BYTES: u64 = 64 * 1024;
/// Images that are being fetched at once, over all calls. What an image takes is known only when its server has answered;
/// thousands of connections that wait for their answers would take processor time from every other call.
const MAX_FETCHES: u64 = 256;

/// The budget. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    bytes: FairSemaphore<AccountId>,
    fetches: FairSemaphore<AccountId>,
}

/// Memory, or the right to fetch an image, that is held until this is dropped.
pub type Reservation = Permit<AccountId>;

/// The budget as the calls of one account see it.
#[derive(Clone, Debug)]
pub struct AccountMemory {
    budget: MemoryBudget,
    account: AccountId,
    patience: Duration,
}

/// There was no room in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many large requests arrive at once; try again in a moment")]
pub struct MemoryUnavailable;

impl MemoryBudget {
    /// A budget of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self::with_fetches(bytes, MAX_FETCHES)
    }

    /// The same, with so many images being fetched at once.
    pub(super) fn with_fetches(bytes: u64, fetches: u64) -> Self {
        Self {
            bytes: FairSemaphore::new(bytes, bytes / 2),
            fetches: FairSemaphore::new(fetches, fetches / 2),
        }
    }

    /// For calls of this account, which wait for room no longer than `patience`.
    pub fn of(&self, account: AccountId, patience: Duration) -> AccountMemory {
        AccountMemory {
            budget: self.clone(),
            account,
            patience,
        }
    }

    /// Bytes that no call holds.
    pub fn free(&self) -> u64 {
        self.bytes.free()
    }
}

impl AccountMemory {
    /// Waits until an image may be fetched. To be held from before the connection is made until the image is stored.
    pub async fn begin_fetch(&self) -> Reservation {
        self.budget.fetches.acquire(self.account, 1).await
    }

    /// Waits for the memory that an image takes on its way; its length, where that is known. A small image can be in memory four times:
    /// as the connection has read it, in two pieces that are handed on, and in the part that fills.
    pub async fn reserve(&self, length: Option<u64>) -> Reservation {
        let bytes = length.map_or(IMAGE_BYTES, |it| {
            it.saturating_mul(4)
                .saturating_add(TRANSIT_BYTES)
                .min(IMAGE_BYTES)
        });
        self.budget.bytes.acquire(self.account, bytes).await
    }

    /// Waits for the memory of a body that is held whole with what is made of it, so many bytes.
    ///
    /// # Errors
    /// There is no room in time.
    pub async fn reserve_whole(&self, bytes: u64) -> Result<Reservation, MemoryUnavailable> {
        let reserved = self.budget.bytes.acquire(self.account, bytes);
        timeout(self.patience, reserved)
            .await
            .map_err(|_| MemoryUnavailable)
    }

    /// The same, for as long as a call that uploads may be kept waiting.
    ///
    /// # Errors
    /// There is no room in time.
    pub async fn reserve_soon(&self) -> Result<Reservation, MemoryUnavailable> {
        let reserved = timeout(self.patience, self.reserve(None)).await;
        reserved.map_err(|_| MemoryUnavailable)
    }
}

impl Default for AccountMemory {
    /// A budget that no other call shares.
    fn default() -> Self {
        MemoryBudget::new(256 << 20).of(AccountId(Uuid::nil()), Duration::from_secs(15))
    }
}
