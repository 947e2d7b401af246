//! Work on large bodies, done on the blocking pool: the arbiter of the jobs serves thousands of other runs.

use tintype_imaging::{DecodePermit, DecodePermits};
use tintype_storage::domain::ids::AccountId;
use tokio::task::JoinError;

/// Does heavy work off the arbiter. A panic in it is resumed here, so that the run reports it like any other panic.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    resumed(tokio::task::spawn_blocking(work).await).await
}

/// The same for work that decodes pictures, of which few are in memory at a time.
pub async fn decoding<T: Send + 'static>(
    permits: &DecodePermits<AccountId>,
    account: AccountId,
    work: impl FnOnce(&DecodePermit) -> T + Send + 'static,
) -> T {
    resumed(permits.run(account, work).await).await
}

async fn resumed<T>(outcome: Result<T, JoinError>) -> T {
    match outcome {
        Ok(done) => done,
        Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
        // The runtime cancels work only when it ends, and the waiting future ends with it.
        Err(_) => std::future::pending().await,
    }
}
