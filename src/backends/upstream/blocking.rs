//! Work on large bodies runs on the blocking pool, because the arbiter of the jobs serves thousands of other runs.

use tintype_imaging::{DecodePermit, DecodePermits};
use tintype_storage::domain::ids::AccountId;
use tokio::task::JoinError;

/// Runs CPU-heavy work on the blocking pool. A panic of `work` continues in the caller, so that the run reports it.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    propagate_panic(tokio::task::spawn_blocking(work).await).await
}

/// The same for work that decodes images; `permits` bounds how many are in memory at a time.
pub async fn decoding<T: Send + 'static>(
    permits: &DecodePermits<AccountId>,
    account: AccountId,
    work: impl FnOnce(&DecodePermit) -> T + Send + 'static,
) -> T {
    propagate_panic(permits.run(account, work).await).await
}

async fn propagate_panic<T>(outcome: Result<T, JoinError>) -> T {
    match outcome {
        Ok(done) => done,
        Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
        // The runtime cancels work only at its own end, and drops this future then too.
        Err(_) => std::future::pending().await,
    }
}
